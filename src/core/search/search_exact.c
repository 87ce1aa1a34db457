/* SPDX-License-Identifier: MIT */
/*
 * search_exact.c - the best counts of GPUs, were there no nodes
 *
 * The price leaves open who gets the last GPUs, which matters when there are
 * few. Where the table is small, the knapsack that remains when nodes are
 * forgotten is solved exactly: from both ends, so that it is also known what
 * is left for the others when a job takes so many GPUs. Counts that the price
 * rules out already are left out.
 */
#include <math.h>
#include <stdlib.h>

#include "core/search/search.h"

#define CELLS_MAX 200000  /* jobs times GPUs */
#define WORK_MAX  4000000 /* counts to choose from, times GPUs */

struct option {
	int gpus;
	double utility;
};

struct table {
	struct plx_search *search;
	size_t width;		/* GPUs and one */
	struct option *options; /* of all jobs, one after the other */
	size_t *first;		/* [jobs + 1] of a job */
	double *head;		/* [jobs + 1][width] best of the first jobs */
	double *tail;		/* ... and of the others, from this one */
};

static bool promising(const struct plx_search *search,
		      const struct plx_search_job *e, double utility, int gpus)
{
	return gpus <= search->open_gpus &&
	       utility > plx_search_needed(search, e, gpus);
}

/* Counts that were not asked for, and may be promising. */
static void query_remainder(const struct plx_search *search,
			    struct plx_search_job *e)
{
	double next = -INFINITY;

	for (int g = e->cap; g > 0; g--) {
		if (isnan(e->counts[g]) && promising(search, e, next, g))
			e->counts[g] = plx_value_of_count(search, e, g);
		if (e->counts[g] > -INFINITY)
			next = e->counts[g];
	}
}

/* What it has first: it is chosen in doubt. */
static size_t list_options(const struct plx_search *search,
			   const struct plx_search_job *e,
			   struct option *options)
{
	int held = plx_placement_shape(&e->now).gpus;
	double most = -INFINITY;
	size_t count = 0;

	if (e->fixed) {
		options[0] = (struct option){ .utility = e->at.utility };
		return 1;
	}
	if (e->now_valid && held > 0)
		options[count++] = (struct option){ .gpus = held,
						    .utility = e->now.utility };
	for (int g = 0; g <= e->cap; g++) {
		double utility = g > 0	       ? e->counts[g]
				 : e->may_park ? e->utility_parked
					       : -INFINITY;

		if (!(utility > most) || !promising(search, e, utility, g))
			continue;
		most = utility;
		options[count++] =
			(struct option){ .gpus = g, .utility = utility };
	}
	return count;
}

static bool table_init(struct table *table, struct plx_search *search)
{
	size_t jobs = (size_t) search->job_count;
	size_t most = 0;
	size_t cells = (jobs + 1) * ((size_t) search->open_gpus + 1);

	table->search = search;
	table->width = (size_t) search->open_gpus + 1;
	for (size_t j = 0; j < jobs; j++) {
		if (search->jobs[j].stuck)
			return false;
		most += (size_t) search->jobs[j].cap + 2;
	}
	if (cells > CELLS_MAX || most * table->width > WORK_MAX)
		return false;
	table->options = malloc(most * sizeof(*table->options));
	table->first = malloc((jobs + 1) * sizeof(*table->first));
	table->head = malloc(2 * cells * sizeof(*table->head));
	table->tail = table->head + cells;
	if (!table->options || !table->first || !table->head)
		return false;
	table->first[0] = 0;
	for (size_t j = 0; j < jobs; j++) {
		struct plx_search_job *e = &search->jobs[j];
		size_t at = table->first[j];

		query_remainder(search, e);
		table->first[j + 1] =
			at + list_options(search, e, table->options + at);
	}
	return true;
}

static void table_release(struct table *table)
{
	free(table->options);
	free(table->first);
	free(table->head);
}

/* to[c]: the best of from[c - gpus] and the job's choice. */
static void add_job(const struct table *table, size_t j, const double *from,
		    double *to)
{
	for (size_t c = 0; c < table->width; c++)
		to[c] = -INFINITY;
	for (size_t i = table->first[j]; i < table->first[j + 1]; i++) {
		const struct option *option = &table->options[i];
		size_t gpus = (size_t) option->gpus;

		for (size_t c = gpus; c < table->width; c++) {
			double sum = from[c - gpus] + option->utility;

			to[c] = sum > to[c] ? sum : to[c];
		}
	}
}

static void table_fill(struct table *table)
{
	size_t jobs = (size_t) table->search->job_count;

	for (size_t c = 0; c < table->width; c++)
		table->head[c] = table->tail[jobs * table->width + c] = 0;
	for (size_t j = 0; j < jobs; j++)
		add_job(table, j, table->head + j * table->width,
			table->head + (j + 1) * table->width);
	for (size_t j = jobs; j > 0; j--)
		add_job(table, j - 1, table->tail + j * table->width,
			table->tail + (j - 1) * table->width);
}

/* What the others have at most when this job takes so many. */
static double others_with(const struct table *table, size_t j, int gpus)
{
	const double *head = table->head + j * table->width;
	const double *tail = table->tail + (j + 1) * table->width;
	double most = -INFINITY;

	if ((size_t) gpus >= table->width)
		return most;
	for (size_t c = 0, left = table->width - 1 - (size_t) gpus;
	     c + (size_t) gpus < table->width; c++, left--)
		most = fmax(most, head[c] + tail[left]);
	return most;
}

static void read_others(const struct table *table)
{
	struct plx_search *search = table->search;

	for (int j = 0; j < search->job_count; j++) {
		struct plx_search_job *e = &search->jobs[j];

		if (e->fixed)
			continue;
		for (int g = 0; g <= e->cap; g++)
			e->others[g] = others_with(table, (size_t) j, g);
	}
}

/* The counts of the best choice, for the packing. */
static void read_targets(const struct table *table)
{
	struct plx_search *search = table->search;
	size_t c = table->width - 1;

	for (size_t j = (size_t) search->job_count; j > 0; j--) {
		struct plx_search_job *e = &search->jobs[j - 1];
		const double *before = table->head + (j - 1) * table->width;
		double sum = table->head[j * table->width + c];

		for (size_t i = table->first[j - 1]; i < table->first[j]; i++) {
			const struct option *option = &table->options[i];

			if ((size_t) option->gpus > c ||
			    before[c - (size_t) option->gpus] +
					    option->utility <
				    sum)
				continue;
			c -= (size_t) option->gpus;
			e->want = option->gpus;
			break;
		}
	}
}

bool plx_search_exact(struct plx_search *search)
{
	struct table table = { 0 };
	bool done = false;
	double best;

	if (!table_init(&table, search))
		goto done;
	table_fill(&table);
	best = table.head[(size_t) search->job_count * table.width +
			  table.width - 1];
	if (!(best > -INFINITY))
		goto done;
	/* What was left out may be in a plan as good as the best so far. */
	best = fmax(best, search->best_sum);
	search->bound = fmin(search->bound, best);
	search->bound_truly = fmin(search->bound_truly, best);
	read_others(&table);
	read_targets(&table);
	search->exact = true;
	done = true;
done:
	table_release(&table);
	return done;
}
