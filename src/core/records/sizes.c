/* SPDX-License-Identifier: MIT */
/* sizes.c - numbers of GPUs that a job may run on */

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/records/sizes.h"

/* Index of the first number that is `gpus` or more; count: there is none. */
static int first_from(const int *list, int count, int gpus)
{
	int low = 0;
	int high = count;

	while (low < high) {
		int middle = low + (high - low) / 2;

		if (list[middle] < gpus)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

int plx_listed_up(const int *list, int count, int gpus)
{
	int i = first_from(list, count, gpus);

	if (!count)
		return gpus;
	return i < count ? list[i] : 0;
}

int plx_listed_down(const int *list, int count, int gpus)
{
	int i;

	if (!count)
		return gpus;
	i = gpus < INT_MAX ? first_from(list, count, gpus + 1) : count;
	return i > 0 ? list[i - 1] : 0;
}

bool plx_listed(const int *list, int count, int gpus)
{
	int i = first_from(list, count, gpus);

	return !count || (i < count && list[i] == gpus);
}

int plx_sizes_up(const struct plx_sizes *sizes, int gpus)
{
	int rest = sizes->step ? gpus % sizes->step : 0;

	if (!sizes->step)
		return plx_listed_up(sizes->list, sizes->count, gpus);
	if (gpus < 1)
		return sizes->step;
	if (!rest)
		return gpus;
	return gpus > INT_MAX - sizes->step ? 0 : gpus - rest + sizes->step;
}

int plx_sizes_down(const struct plx_sizes *sizes, int gpus)
{
	if (!sizes->step)
		return plx_listed_down(sizes->list, sizes->count, gpus);
	return gpus > 0 ? gpus - gpus % sizes->step : 0;
}

bool plx_sizes_allow(const struct plx_sizes *sizes, int gpus)
{
	if (!sizes->step)
		return plx_listed(sizes->list, sizes->count, gpus);
	return gpus > 0 && gpus % sizes->step == 0;
}

bool plx_sizes_given(const struct plx_sizes *sizes)
{
	return sizes->step > 0 || sizes->count > 0;
}

void plx_sizes_text(const struct plx_sizes *sizes, char *text, size_t size)
{
	size_t length = 0;

	text[0] = '\0';
	if (sizes->step)
		snprintf(text, size, "step=%d", sizes->step);
	for (int i = 0; i < sizes->count && length + 1 < size; i++)
		length +=
			(size_t) snprintf(text + length, size - length, "%s%d",
					  i ? "," : "sizes=", sizes->list[i]);
}

int plx_sizes_list(const struct plx_sizes *sizes, int least, int most,
		   int **list, int *count, struct plx_error *err)
{
	int capacity = sizes->step ? most / sizes->step + 1 : sizes->count;

	*list = NULL;
	*count = 0;
	if (!plx_sizes_given(sizes))
		return 0;
	*list = calloc((size_t) capacity + 1, sizeof(**list));
	if (!*list)
		return plx_fail(err, "no memory for sizes");
	for (int gpus = plx_sizes_up(sizes, least);
	     gpus > 0 && gpus <= most && *count < capacity;
	     gpus = plx_sizes_up(sizes, gpus + 1))
		(*list)[(*count)++] = gpus;
	return 0;
}

/* Nodes that have so many GPUs, as many of them as make an allowed size. */
static int level_nodes(const struct plx_sizes *sizes, const int *gpus,
		       int count, int each)
{
	int nodes = 0;

	for (int n = 0; n < count; n++)
		nodes += gpus[n] >= each;
	while (nodes > 0 && !plx_sizes_allow(sizes, nodes * each))
		nodes--;
	return nodes;
}

int plx_sizes_level(const struct plx_sizes *sizes, const int *gpus, int count,
		    int *nodes)
{
	int largest = 0;
	int best = 0;

	*nodes = 0;
	for (int n = 0; n < count; n++)
		largest = gpus[n] > largest ? gpus[n] : largest;
	for (int each = 1; each <= largest; each++) {
		int on = level_nodes(sizes, gpus, count, each);

		if (on * each > *nodes * best) {
			best = each;
			*nodes = on;
		}
	}
	return best;
}
