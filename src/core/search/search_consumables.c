/* SPDX-License-Identifier: MIT */
/*
 * search_consumables.c - what GPUs take of a node besides themselves
 *
 * CPUs or memory, say: a job may sit on as many of a node's free GPUs as
 * there are consumables of all kinds for. The bound knows nothing of it.
 */
#include <stdlib.h>

#include "core/search/search.h"

#define EXCESS 1e-9 /* share of an amount that sums may be off */

static size_t kinds_of(const struct plx_search *search)
{
	return (size_t) search->problem->consumable_kinds;
}

bool plx_consumables_init(struct plx_search *search)
{
	size_t size = (size_t) search->node_count * kinds_of(search) + 1;

	search->consumable_left = calloc(size, sizeof(double));
	search->consumable_open = calloc(size, sizeof(double));
	return search->consumable_left && search->consumable_open;
}

/* What the job keeps on the node of its script, whatever else it has. */
static void keep_batch_host(const struct plx_search *search,
			    const struct plx_job *job)
{
	int batch_host = job->batch_host;
	size_t first =
		batch_host >= 0 ? (size_t) batch_host * kinds_of(search) : 0;

	for (size_t k = 0; batch_host >= 0 && k < kinds_of(search); k++) {
		search->consumable_left[first + k] -=
			plx_job_demand(job, batch_host, 0, (int) k);
		search->consumable_open[first + k] -=
			plx_job_demand(job, batch_host, 0, (int) k);
	}
}

/* The most of kind k that a GPU of any job takes. */
static double most_taken(const struct plx_search *search, int k)
{
	double most = 0;

	for (int j = 0; j < search->job_count; j++) {
		const double *demand = search->jobs[j].job->demand;

		if (demand && demand[k] > most)
			most = demand[k];
	}
	return most;
}

/*
 * A job takes no more than its GPUs and its script do together, so where what
 * the scripts leave suffices for all GPUs at the highest rate, nobody is ever
 * short.
 */
static bool is_plentiful(const struct plx_search *search)
{
	size_t kinds = kinds_of(search);

	for (int k = 0; k < search->problem->consumable_kinds; k++) {
		double most = most_taken(search, k);

		for (int n = 0; n < search->node_count; n++) {
			if (search->consumable_left[(size_t) n * kinds +
						    (size_t) k] <
			    most * search->problem->gpus[n])
				return false;
		}
	}
	return true;
}

void plx_consumables_reset(struct plx_search *search)
{
	size_t size = (size_t) search->node_count * kinds_of(search);

	for (size_t i = 0; i < size; i++) {
		search->consumable_left[i] = search->problem->consumables[i];
		search->consumable_open[i] = search->problem->consumables[i];
	}
	for (int j = 0; j < search->job_count; j++)
		keep_batch_host(search, search->jobs[j].job);
	search->plentiful = is_plentiful(search);
}

/* Beyond what it keeps there; negative GPUs: the same given back. */
static void take(const struct plx_search *search, double *consumables,
		 const struct plx_search_job *e, int n, int gpus)
{
	double *here = consumables + (size_t) n * kinds_of(search);
	int sign = gpus < 0 ? -1 : 1;

	for (int k = 0; k < search->problem->consumable_kinds; k++)
		here[k] -= sign * (plx_job_demand(e->job, n, sign * gpus, k) -
				   plx_job_demand(e->job, n, 0, k));
}

void plx_consumables_take(struct plx_search *search,
			  const struct plx_search_job *e, int n, int gpus)
{
	take(search, search->consumable_left, e, n, gpus);
}

void plx_consumables_fix(struct plx_search *search,
			 const struct plx_search_job *e, int n, int gpus)
{
	take(search, search->consumable_open, e, n, gpus);
}

bool plx_consumables_short(const struct plx_search *search, int n)
{
	size_t first = (size_t) n * kinds_of(search);

	for (size_t i = first; i < first + kinds_of(search); i++) {
		if (search->consumable_left[i] <
		    -EXCESS * search->problem->consumables[i])
			return true;
	}
	return false;
}

/* GPUs that it sits on there. */
static int held_on(const struct plx_search_job *e, int n)
{
	for (int i = 0; i < e->at.count; i++) {
		if (e->at.slots[i].node == n)
			return e->at.slots[i].gpus;
	}
	return 0;
}

/* As many of these GPUs as there are consumables for, beside those it holds of
 * it. */
static int supplied(const struct plx_search *search, const double *here,
		    const struct plx_search_job *e, int n, int held, int gpus)
{
	for (int k = 0; gpus > 0 && k < search->problem->consumable_kinds;
	     k++) {
		double demand = e->job->demand[k];
		double left = 0;

		if (demand <= 0)
			continue;
		left = here[k] + plx_job_demand(e->job, n, held, k);
		left *= 1 + EXCESS;
		if (demand * (held + gpus) > left)
			gpus = left > 0 ? (int) (left / demand) - held : 0;
	}
	return gpus > 0 ? gpus : 0;
}

/* Negative where more GPUs are held than there are, whatever the consumables.
 */
int plx_consumables_free(const struct plx_search *search,
			 const struct plx_search_job *e, int n)
{
	const double *here =
		search->consumable_left + (size_t) n * kinds_of(search);
	int free = search->nodes[n].free;

	return free < 1 ? free
			: supplied(search, here, e, n, held_on(e, n), free);
}

int plx_consumables_open(const struct plx_search *search,
			 const struct plx_search_job *e, int n)
{
	const double *here =
		search->consumable_open + (size_t) n * kinds_of(search);
	int open = search->nodes[n].open;

	return open < 1 ? open : supplied(search, here, e, n, 0, open);
}
