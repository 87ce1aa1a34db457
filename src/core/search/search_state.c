/* SPDX-License-Identifier: MIT */
/*
 * search_state.c - who sits where, and how to take a move back
 *
 * Every change of a placement goes through plx_placement_take() and
 * plx_placement_put(), which keep the nodes' books.
 */
#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/search/search.h"

/* Lower, and the powers of a parked job's floor would not fit a double. */
#define FAIRNESS_MIN -64.0

static void *zeroed(size_t count, size_t size)
{
	return calloc(count > 0 ? count : 1, size);
}

/* Most nodes that a placement of this job can have. */
static size_t slots_max(const struct plx_problem *problem,
			const struct plx_job *job)
{
	struct plx_shape now = plx_shape_of(job->now, problem->node_count);
	int most = plx_gpu_cap(job, now.gpus);

	most = most < problem->node_count ? most : problem->node_count;
	return (size_t) (most > now.nodes ? most : now.nodes);
}

/* What it has, and what nothing, is worth to it. */
static void elastic_now(const struct plx_search *search,
			struct plx_search_job *e)
{
	double weight = plx_job_weight(search, e);
	double p = search->fairness;
	double speedup =
		plx_alike_speedup(e, plx_search_shape(search, &e->now));
	double value = plx_speedup_value(e->job, &e->fair, speedup, false);

	e->utility_parked = weight * plx_utility(p, 0);
	e->now_value = value;
	e->now_utility = weight * plx_utility(p, value);
	value *= 1 + search->problem->hysteresis;
	e->now.utility = weight * plx_utility(p, value);
	for (int i = 0; e->job->fixed && i < e->now.count; i++)
		search->nodes[e->now.slots[i].node].fixed +=
			e->now.slots[i].gpus;
}

static int elastic_init(struct plx_search *search, struct plx_search_job *e,
			int index, struct plx_error *err)
{
	const struct plx_problem *problem = search->problem;
	size_t max = slots_max(problem, &problem->jobs[index]);

	e->index = index;
	e->job = &problem->jobs[index];
	e->slots = zeroed(4 * max, sizeof(*e->slots));
	if (!e->slots)
		return plx_fail(err, "no memory for the nodes of job %u",
				e->job->id);
	e->now.slots = e->slots;
	e->at.slots = e->slots + max;
	e->saved.slots = e->slots + 2 * max;
	e->best.slots = e->slots + 3 * max;
	for (int n = 0; n < problem->node_count; n++) {
		e->required += e->job->required && e->job->required[n];
		if (e->job->now[n] > 0)
			e->now.slots[e->now.count++] =
				(struct plx_slot){ .node = n,
						   .gpus = e->job->now[n] };
	}
	e->may_park = e->job->may_park || e->now.count == 0;
	e->now_valid = plx_job_may_have(problem, e->job, e->job->now);
	e->fair = plx_fair_share(problem, e->job);
	plx_alike_find(search, e);
	elastic_now(search, e);
	return plx_value_init(search, e, err);
}

/* Jobs by id, whatever order the caller has them in. */
static int by_id(const void *a, const void *b)
{
	const struct plx_search_job *x = a;
	const struct plx_search_job *y = b;

	return (x->job->id > y->job->id) - (x->job->id < y->job->id);
}

/* Jobs that may share a node: each has a GPU of it. */
static size_t node_jobs_max(const struct plx_search *search, int n)
{
	const struct plx_problem *problem = search->problem;
	int most = problem->gpus[n] > problem->gpus_total[n]
			   ? problem->gpus[n]
			   : problem->gpus_total[n];

	return (size_t) (most < search->job_count ? most : search->job_count);
}

static int alloc_nodes(struct plx_search *search, struct plx_error *err)
{
	size_t nodes = (size_t) search->node_count;
	size_t jobs = 0;
	size_t gpus = 0;

	for (int n = 0; n < search->node_count; n++) {
		jobs += node_jobs_max(search, n);
		search->gpus += search->problem->gpus[n];
		if (search->problem->gpus[n] > search->node_gpus_max)
			search->node_gpus_max = search->problem->gpus[n];
	}
	gpus = (size_t) search->node_gpus_max + 2;
	search->nodes = zeroed(nodes, sizeof(*search->nodes));
	search->node_jobs = zeroed(jobs, sizeof(int));
	search->touched = zeroed((size_t) search->job_count, sizeof(int));
	search->queue = zeroed((size_t) search->job_count, sizeof(int));
	search->strayed = zeroed((size_t) search->job_count, sizeof(int));
	search->picked.slots = zeroed(nodes, sizeof(struct plx_slot));
	search->keys = zeroed(nodes, sizeof(uint64_t));
	search->scratch = zeroed(nodes, sizeof(uint64_t));
	search->fits = zeroed(gpus, sizeof(int));
	search->free_one = zeroed(gpus, sizeof(int));
	search->free_multi = zeroed(gpus, sizeof(int));
	if (!plx_switches_init(search) || !plx_look_init(search) ||
	    !plx_consumables_init(search) || !search->nodes ||
	    !search->node_jobs || !search->touched || !search->queue ||
	    !search->strayed || !search->picked.slots || !search->keys ||
	    !search->scratch || !search->fits || !search->free_one ||
	    !search->free_multi)
		return plx_fail(err, "no memory to search %zu nodes", nodes);
	jobs = 0;
	for (int n = 0; n < search->node_count; n++) {
		search->nodes[n].jobs = search->node_jobs + jobs;
		search->nodes[n].bucket = -1;
		search->fits[search->problem->gpus[n]]++;
		jobs += node_jobs_max(search, n);
	}
	for (int g = search->node_gpus_max; g > 0; g--)
		search->fits[g - 1] += search->fits[g];
	return 0;
}

/*
 * Which nodes it may use: nearly all, so that their numbers of free GPUs tell
 * enough, or a few.
 */
static void count_nodes(const struct plx_problem *problem,
			struct plx_search_job *e)
{
	int usable = 0;

	for (int n = 0; e->job->allowed && n < problem->node_count; n++) {
		if (!plx_job_usable(e->job, n))
			continue;
		if (usable < PLX_FEW_NODES)
			e->few[usable] = n;
		usable++;
	}
	e->few_count = usable <= PLX_FEW_NODES ? usable : 0;
	e->anywhere =
		!e->job->allowed || 8L * usable >= 7L * problem->node_count;
}

struct plx_search *plx_search_create(const struct plx_problem *problem,
				     struct plx_error *err)
{
	struct plx_search *search = zeroed(1, sizeof(*search));
	int rc = -1;

	if (!search) {
		plx_fail(err, "no memory for the search");
		return NULL;
	}
	search->problem = problem;
	search->node_count = problem->node_count;
	search->job_count = problem->job_count;
	search->fairness = problem->fairness < FAIRNESS_MIN ? FAIRNESS_MIN
							    : problem->fairness;
	search->random = problem->seed;
	search->least_gain = -INFINITY;
	search->jobs =
		zeroed((size_t) problem->job_count, sizeof(*search->jobs));
	search->alikes = zeroed(PLX_ALIKE_MAX, sizeof(*search->alikes));
	if (!search->jobs || !search->alikes) {
		plx_fail(err, "no memory for %d jobs", problem->job_count);
		goto done;
	}
	if (alloc_nodes(search, err) < 0)
		goto done;
	for (int j = 0; j < problem->job_count; j++) {
		if (elastic_init(search, &search->jobs[j], j, err) < 0)
			goto done;
		count_nodes(problem, &search->jobs[j]);
	}
	qsort(search->jobs, (size_t) search->job_count, sizeof(*search->jobs),
	      by_id);
	plx_search_price(search);
	for (int j = 0; j < problem->job_count; j++) {
		if (plx_candidates_fill(search, &search->jobs[j], err) < 0)
			goto done;
	}
	plx_search_reset(search);
	rc = 0;
done:
	if (rc < 0) {
		plx_search_destroy(search);
		search = NULL;
	}
	return search;
}

void plx_search_destroy(struct plx_search *search)
{
	if (!search)
		return;
	for (int j = 0; search->jobs && j < search->job_count; j++) {
		free(search->jobs[j].slots);
		free(search->jobs[j].one);
		for (int i = 0; i < 2 * PLX_FURTHER_MAX; i++)
			free(search->jobs[j].wide[i]);
		free(search->jobs[j].hull);
		free(search->jobs[j].candidates);
	}
	free(search->jobs);
	free(search->alikes);
	free(search->nodes);
	free(search->node_jobs);
	free(search->touched);
	free(search->queue);
	free(search->strayed);
	free(search->picked.slots);
	free(search->keys);
	free(search->scratch);
	free(search->fits);
	free(search->free_one);
	free(search->free_multi);
	plx_look_release(search);
	plx_switches_release(search);
	free(search->consumable_left);
	free(search->consumable_open);
	free(search);
}

void plx_search_reset(struct plx_search *search)
{
	for (int n = 0; n < search->node_count; n++) {
		struct plx_node *node = &search->nodes[n];

		node->free = search->problem->gpus[n];
		node->open = search->problem->gpus[n];
		node->multi = 0;
		node->fixed_multi = 0;
		node->job_count = 0;
		plx_look_update(search, n);
	}
	for (int j = 0; j < search->job_count; j++) {
		search->jobs[j].at.count = 0;
		search->jobs[j].at.utility = search->jobs[j].utility_parked;
		search->jobs[j].fixed = false;
		search->jobs[j].touched = false;
	}
	search->touched_count = 0;
	plx_consumables_reset(search);
}

static void node_leave(struct plx_node *node, int job)
{
	int i = 0;

	while (node->jobs[i] != job)
		i++;
	node->jobs[i] = node->jobs[--node->job_count];
}

void plx_placement_take(struct plx_search *search, struct plx_search_job *e)
{
	int multi = e->at.count > 1;

	assert(!e->fixed);
	for (int i = 0; i < e->at.count; i++) {
		struct plx_node *node = &search->nodes[e->at.slots[i].node];

		node->free += e->at.slots[i].gpus;
		plx_consumables_take(search, e, e->at.slots[i].node,
				     -e->at.slots[i].gpus);
		node->multi -= multi;
		plx_look_update(search, e->at.slots[i].node);
		node_leave(node, (int) (e - search->jobs));
	}
	search->work += e->at.count;
	e->at.count = 0;
	e->at.utility = e->utility_parked;
}

void plx_placement_put(struct plx_search *search, struct plx_search_job *e,
		       const struct plx_placement *placement)
{
	assert(e->at.count == 0);
	plx_placement_copy(&e->at, placement);
	if (plx_placement_equal(&e->now, &e->at))
		e->at.utility = e->now.utility;
	for (int i = 0; i < placement->count; i++) {
		struct plx_node *node =
			&search->nodes[placement->slots[i].node];

		node->free -= placement->slots[i].gpus;
		plx_consumables_take(search, e, placement->slots[i].node,
				     placement->slots[i].gpus);
		node->multi += placement->count > 1;
		plx_look_update(search, placement->slots[i].node);
		node->jobs[node->job_count++] = (int) (e - search->jobs);
	}
	search->work += placement->count;
}

void plx_placement_fix(struct plx_search *search, struct plx_search_job *e)
{
	e->fixed = true;
	for (int i = 0; i < e->at.count; i++) {
		struct plx_node *node = &search->nodes[e->at.slots[i].node];

		node->open -= e->at.slots[i].gpus;
		plx_consumables_fix(search, e, e->at.slots[i].node,
				    e->at.slots[i].gpus);
		node->fixed_multi += e->at.count > 1;
	}
}

void plx_move_begin(struct plx_search *search)
{
	for (int i = 0; i < search->touched_count; i++)
		search->jobs[search->touched[i]].touched = false;
	search->touched_count = 0;
}

void plx_move_touch(struct plx_search *search, struct plx_search_job *e)
{
	if (e->touched)
		return;
	e->touched = true;
	plx_placement_copy(&e->saved, &e->at);
	search->touched[search->touched_count++] = (int) (e - search->jobs);
}

double plx_move_gain(const struct plx_search *search)
{
	double gain = 0;

	for (int i = 0; i < search->touched_count; i++) {
		const struct plx_search_job *e =
			&search->jobs[search->touched[i]];

		gain += e->at.utility - e->saved.utility;
	}
	return gain;
}

void plx_move_undo(struct plx_search *search)
{
	for (int i = 0; i < search->touched_count; i++)
		plx_placement_take(search, &search->jobs[search->touched[i]]);
	for (int i = 0; i < search->touched_count; i++) {
		struct plx_search_job *e = &search->jobs[search->touched[i]];

		plx_placement_put(search, e, &e->saved);
	}
	plx_move_begin(search);
}
