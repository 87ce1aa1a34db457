/* SPDX-License-Identifier: MIT */
/*
 * search_candidates.c - the configurations a job may take, and the value of
 * each
 *
 * Counts are those that the price made known, and some around them and
 * around what the job has: on any cluster a list of candidates has some dozen
 * configurations.
 */
#include <math.h>
#include <stdlib.h>

#include "core/search/search.h"

#define AROUND 4 /* counts asked within a part of so much, at least 2 */

static int min_int(int a, int b)
{
	return a < b ? a : b;
}

static int max_int(int a, int b)
{
	return a > b ? a : b;
}

/* A growing list of configurations. */
struct list {
	const struct plx_search *search;
	struct plx_search_job *e;
	int size;
	bool failed;
};

static void add(struct list *list, int nodes, int per_node, int gpus)
{
	const struct plx_search *search = list->search;
	struct plx_search_job *e = list->e;
	int span = nodes > 1 ? plx_switches_least(search, nodes) : 0;
	struct plx_shape shape = {
		.nodes = nodes,
		.gpus = gpus,
		.further = plx_further(span),
	};
	double utility = plx_value(search, e, shape);
	struct plx_config *candidates;

	if (!(utility > -INFINITY) || !plx_span_allowed(e, span) ||
	    list->failed)
		return;
	if (e->candidate_count == list->size) {
		list->size = list->size ? 2 * list->size : 32;
		candidates = realloc(e->candidates,
				     (size_t) list->size * sizeof(*candidates));
		if (!candidates) {
			list->failed = true;
			return;
		}
		e->candidates = candidates;
		e->candidates_size = list->size;
	}
	e->candidates[e->candidate_count++] = (struct plx_config){
		.nodes = nodes,
		.per_node = per_node,
		.gpus = gpus,
		.further = shape.further,
		.utility = utility,
	};
}

/* On so many nodes or, in other counts, on more. */
static void add_spread(struct list *list, int nodes, int gpus)
{
	if (gpus % nodes == 0)
		add(list, nodes, gpus / nodes, gpus);
	add(list, nodes, 0, gpus);
}

/* All ways to have so many GPUs. */
static void add_count(struct list *list, int gpus)
{
	const struct plx_search *search = list->search;
	int least = plx_many_nodes(search, list->e, gpus, 2);

	if (plx_one_node(list->e, gpus))
		add(list, 1, gpus, gpus);
	if (list->e->job->whole) {
		if (least > 0)
			add(list, least, gpus / least, gpus);
		return;
	}
	if (search->problem->uniform) {
		for (int k = least; k > 0;
		     k = plx_many_nodes(search, list->e, gpus, k + 1))
			add(list, k, gpus / k, gpus);
		return;
	}
	if (least > 0)
		add_spread(list, least, gpus);
	if (least == 2 && plx_two_differ(list->e) &&
	    plx_many_nodes(search, list->e, gpus, 3) == 3)
		add_spread(list, 3, gpus);
}

static void ask_around(const struct plx_search *search,
		       struct plx_search_job *e, int gpus)
{
	int reach = max_int(2, gpus / AROUND);

	for (int g = max_int(1, gpus - reach);
	     g <= min_int(e->cap, gpus + reach); g++) {
		if (isnan(e->counts[g]))
			e->counts[g] = plx_value_of_count(search, e, g);
	}
}

static void add_candidates(struct list *list)
{
	struct plx_search_job *e = list->e;

	ask_around(list->search, e, e->job->min_gpus);
	if (e->now_valid && e->now.count > 0)
		ask_around(list->search, e, plx_placement_shape(&e->now).gpus);
	if (e->target)
		ask_around(list->search, e, e->target->gpus);
	for (int g = 1; g <= e->cap; g++) {
		if (!isnan(e->counts[g]) && plx_size_allowed(e, g))
			add_count(list, g);
	}
}

static int by_utility(const void *a, const void *b)
{
	const struct plx_config *f = a;
	const struct plx_config *g = b;

	if (f->utility != g->utility)
		return f->utility > g->utility ? -1 : 1;
	if (f->gpus != g->gpus)
		return f->gpus - g->gpus;
	if (f->nodes != g->nodes)
		return f->nodes - g->nodes;
	return g->per_node - f->per_node;
}

/* Wherever g fits, f fits too and is worth as much. Requires f before g. */
static bool makes_idle(const struct plx_config *f, const struct plx_config *g)
{
	if (f->per_node == 0 || g->per_node == 0)
		return f->per_node == g->per_node && f->gpus <= g->gpus &&
		       f->nodes <= g->nodes;
	return f->nodes <= g->nodes && f->per_node <= g->per_node;
}

static void drop_idle_candidates(struct plx_search_job *e)
{
	int kept = 0;

	for (int i = 0; i < e->candidate_count; i++) {
		bool idle = false;

		for (int k = 0; k < kept && !idle; k++)
			idle = makes_idle(&e->candidates[k], &e->candidates[i]);
		if (!idle)
			e->candidates[kept++] = e->candidates[i];
	}
	e->candidate_count = kept;
}

int plx_candidates_fill(const struct plx_search *search,
			struct plx_search_job *e, struct plx_error *err)
{
	struct list list = { .search = search, .e = e };

	if (e->job->fixed)
		return 0;
	e->candidate_count = 0;
	list.size = e->candidates_size;
	add_candidates(&list);
	if (list.failed)
		return plx_fail(err, "no memory for the candidates of job %u",
				e->job->id);
	if (e->candidate_count > 0)
		qsort(e->candidates, (size_t) e->candidate_count,
		      sizeof(*e->candidates), by_utility);
	drop_idle_candidates(e);
	return 0;
}
