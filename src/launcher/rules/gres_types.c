/* SPDX-License-Identifier: GPL-2.0-or-later */
/* gres_types.c - the types of the GPUs that a job has, from Slurm's texts */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "launcher/rules/gres_types.h"
#include "launcher/rules/layout.h"

#define TYPES_MAX 8
#define INDEX_MAX 1024 /* GPUs of a node that are told apart */
#define UNTYPED	  "-"

struct type_list {
	char name[TYPES_MAX][PLX_TYPES_SIZE];
	int count;
	bool bad; /* more than that, or one that is no name */
};

static void add(struct type_list *list, const char *name, size_t length)
{
	char *to = list->name[list->count];

	if (length >= PLX_TYPES_SIZE) {
		list->bad = true;
		return;
	}
	snprintf(to, PLX_TYPES_SIZE, "%.*s", (int) length, name);
	for (int i = 0; i < list->count; i++) {
		if (!strcmp(list->name[i], to))
			return;
	}
	if (!plx_types_valid(to) || strchr(to, ',') ||
	    list->count == TYPES_MAX - 1)
		list->bad = true;
	else
		list->count++;
}

/* Of "gpu:tesla:2(IDX:0-1)" what is between the colons; NULL: no type. */
static const char *type_of(const char *entry, size_t *length)
{
	const char *from = entry + strlen("gpu:");
	const char *end = from + strcspn(from, ":(,");

	*length = (size_t) (end - from);
	return *end == ':' && *length ? from : NULL;
}

static bool is_gpu(const char *entry)
{
	return !strncmp(entry, "gpu:", 4);
}

/* On to the next entry. */
static const char *next(const char *entry)
{
	entry += plx_gres_entry(entry);
	return entry + (*entry == ',');
}

/* Is the number in "0-1,3)"? */
static bool in_list(const char *at, long number)
{
	while (*at >= '0' && *at <= '9') {
		char *end;
		long low = strtol(at, &end, 10);
		long high = *end == '-' ? strtol(end + 1, &end, 10) : low;

		if (number >= low && number <= high)
			return true;
		at = *end == ',' ? end + 1 : "";
	}
	return false;
}

/* The numbers of an entry's GPUs; "": not told. */
static const char *numbers_of(const char *entry)
{
	const char *at = strstr(entry, "(IDX:");

	return at && at < entry + plx_gres_entry(entry) ? at + 5 : "";
}

static bool shares(const char *a, const char *b)
{
	for (long i = 0; i < INDEX_MAX; i++) {
		if (in_list(a, i) && in_list(b, i))
			return true;
	}
	return false;
}

/* Types of the entries that have one of these numbers; NULL: of all. */
static void add_all(struct type_list *list, const char *gres,
		    const char *numbers)
{
	for (; *gres; gres = next(gres)) {
		size_t length;
		const char *type;

		if (!is_gpu(gres) ||
		    (numbers && !shares(numbers_of(gres), numbers)))
			continue;
		type = type_of(gres, &length);
		add(list, type ? type : UNTYPED, type ? length : 1);
	}
}

static int by_name(const void *a, const void *b)
{
	return strcmp(a, b);
}

static void write_types(struct type_list *list, char types[PLX_TYPES_SIZE])
{
	size_t used = 0;

	types[0] = '\0';
	if (list->bad)
		return;
	qsort(list->name, (size_t) list->count, sizeof(list->name[0]), by_name);
	for (int i = 0; i < list->count; i++) {
		used += (size_t) snprintf(types + used, PLX_TYPES_SIZE - used,
					  "%s%s", i ? "," : "", list->name[i]);
		if (used >= PLX_TYPES_SIZE) {
			types[0] = '\0';
			return;
		}
	}
}

bool plx_gres_named(const char *job)
{
	size_t length;

	for (; *job; job = next(job)) {
		if (is_gpu(job) && !type_of(job, &length))
			return false;
	}
	return true;
}

void plx_gres_types(const char *job, const char *node, const char *used,
		    char types[PLX_TYPES_SIZE])
{
	struct type_list all = { .count = 0 };
	struct type_list list = { .count = 0 };

	add_all(&all, node, NULL);
	for (; *job; job = next(job)) {
		size_t length;
		const char *type = is_gpu(job) ? type_of(job, &length) : NULL;

		if (type)
			add(&list, type, length);
		else if (is_gpu(job) && all.count == 1)
			add(&list, all.name[0], strlen(all.name[0]));
		else if (is_gpu(job))
			add_all(&list, used, numbers_of(job));
	}
	write_types(&list, types);
}
