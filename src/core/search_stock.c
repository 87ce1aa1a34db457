/* SPDX-License-Identifier: MIT */
/*
 * search_stock.c - what GPUs take of a node besides themselves
 *
 * CPUs or memory, say: a job may sit on as many of a node's free GPUs as
 * there is stock of all kinds for. The bound knows nothing of it.
 */
#include <math.h>
#include <stdlib.h>

#include "core/search.h"

#define EXCESS 1e-9 /* share of a stock that sums may be off */

static size_t kinds_of(const struct plx_search *search)
{
	return (size_t) search->problem->stock_kinds;
}

bool plx_stock_init(struct plx_search *search)
{
	size_t size = (size_t) search->node_count * kinds_of(search) + 1;

	search->stock_left = calloc(size, sizeof(double));
	search->stock_open = calloc(size, sizeof(double));
	return search->stock_left && search->stock_open;
}

void plx_stock_reset(struct plx_search *search)
{
	size_t size = (size_t) search->node_count * kinds_of(search);

	for (size_t i = 0; i < size; i++) {
		search->stock_left[i] = search->problem->stock[i];
		search->stock_open[i] = search->problem->stock[i];
	}
}

static void take(const struct plx_search *search, double *stock,
		 const struct plx_elastic *e, int n, int gpus)
{
	double *here = stock + (size_t) n * kinds_of(search);

	for (size_t k = 0; e->job->takes && k < kinds_of(search); k++)
		here[k] -= gpus * e->job->takes[k];
}

void plx_stock_take(struct plx_search *search, const struct plx_elastic *e,
		    int n, int gpus)
{
	take(search, search->stock_left, e, n, gpus);
}

void plx_stock_fix(struct plx_search *search, const struct plx_elastic *e,
		   int n, int gpus)
{
	take(search, search->stock_open, e, n, gpus);
}

bool plx_stock_short(const struct plx_search *search, int n)
{
	size_t first = (size_t) n * kinds_of(search);

	for (size_t i = first; i < first + kinds_of(search); i++) {
		if (search->stock_left[i] < -EXCESS * search->problem->stock[i])
			return true;
	}
	return false;
}

/* As many of these GPUs as there is stock for. */
static int supplied(const struct plx_search *search, const double *stock,
		    const struct plx_elastic *e, int n, int gpus)
{
	const double *here = stock + (size_t) n * kinds_of(search);

	for (size_t k = 0; e->job->takes && k < kinds_of(search); k++) {
		double takes = e->job->takes[k];

		if (takes > 0 && takes * gpus > here[k] * (1 + EXCESS))
			gpus = here[k] > 0
				       ? (int) (here[k] * (1 + EXCESS) / takes)
				       : 0;
	}
	return gpus;
}

int plx_stock_free(const struct plx_search *search, const struct plx_elastic *e,
		   int n)
{
	return supplied(search, search->stock_left, e, n,
			search->nodes[n].free);
}

int plx_stock_open(const struct plx_search *search, const struct plx_elastic *e,
		   int n)
{
	return supplied(search, search->stock_open, e, n,
			search->nodes[n].open);
}
