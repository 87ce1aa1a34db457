/* SPDX-License-Identifier: GPL-2.0-or-later */
/* reservations.c - GPUs kept back for the jobs of a snapshot that wait */

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/reserve/reservation_group.h"
#include "sched/pollux/plan/moldable_plan.h"
#include "sched/pollux/plan/reservations.h"
#include "sched/pollux/snapshot/elastic_alloc.h"
#include "sched/pollux/plan/spread.h"

/* Each other shape is tried with each effort, and open to nodes for each. */
#define EFFORTS 3
/* Elastic jobs do not grow for less. */
#define SOON_S 30

/* All that plx_reservation_make() is to be told. */
struct input {
	const struct pollux_snapshot *snapshot;
	const struct plx_problem *problem;
	const struct pollux_consumables *consumables;
	const struct pollux_terms *terms;
	struct plx_resources *left;
	struct plx_resources *per_gpu;
	struct plx_resources *per_gain;
	struct plx_resources *scripts; /* [problem->job_count] */
	struct plx_node_alloc *allocs;
	int alloc_count;
	struct plx_request *requests;
	struct plx_grant *grants; /* in the order of requests */
	int *waiting; /* [count] index of the request's job; -1: it wakes */
	int count;
	bool *keeps;	   /* [problem->job_count] for each request */
	bool *leaves;	   /* the same */
	bool *batch_hosts; /* [node_count] for each job: its batch host alone */
	bool *named;	/* the same: its batch host and those of --nodelist */
	double *demand; /* [problem->consumable_kinds] for each request */
	bool *open;	/* [node_count] for each request of another shape */
	int spreads;	/* other shapes so far */
};

static double at_least(double a, double b)
{
	return a > b ? a : b;
}

static void release(struct input *in)
{
	free(in->left);
	free(in->per_gpu);
	free(in->per_gain);
	free(in->scripts);
	free(in->allocs);
	free(in->requests);
	free(in->grants);
	free(in->waiting);
	free(in->keeps);
	free(in->leaves);
	free(in->batch_hosts);
	free(in->named);
	free(in->demand);
	free(in->open);
}

static int get_memory(struct input *in, struct plx_error *err)
{
	size_t nodes = (size_t) in->snapshot->node_count + 1;
	size_t jobs = (size_t) in->problem->job_count + 1;
	size_t spreads = EFFORTS * POLLUX_SPREADS_IN_ALL;
	/* A job is tried as it is with each effort, too, and then once more. */
	size_t most = (EFFORTS + 1) * (size_t) in->snapshot->waiting_count +
		      spreads + 2 * jobs;
	size_t kinds = (size_t) in->problem->consumable_kinds;
	size_t allocs =
		(size_t) in->snapshot->alloc_count + 2 * jobs +
		(size_t) pollux_moldable_alloc_count(in->snapshot, in->problem);

	in->left = calloc(nodes, sizeof(*in->left));
	in->per_gpu = calloc(nodes, sizeof(*in->per_gpu));
	in->per_gain = calloc(nodes, sizeof(*in->per_gain));
	in->scripts = calloc(jobs, sizeof(*in->scripts));
	in->allocs = calloc(allocs, sizeof(*in->allocs));
	in->requests = calloc(most, sizeof(*in->requests));
	in->grants = calloc(most, sizeof(*in->grants));
	in->waiting = calloc(most, sizeof(*in->waiting));
	in->keeps = calloc(most * jobs, sizeof(bool));
	in->leaves = calloc(most * jobs, sizeof(bool));
	in->batch_hosts = calloc(nodes * jobs, sizeof(bool));
	in->named = calloc(nodes * jobs, sizeof(bool));
	in->demand = calloc(most * kinds + 1, sizeof(double));
	in->open = calloc(spreads * nodes, sizeof(bool));
	if (!in->left || !in->per_gpu || !in->per_gain || !in->scripts ||
	    !in->allocs || !in->requests || !in->grants || !in->waiting ||
	    !in->keeps || !in->leaves || !in->batch_hosts || !in->named ||
	    !in->demand || !in->open)
		return plx_fail(err, "no memory for the jobs that wait");
	return 0;
}

/*
 * What the job would take for a GPU of each node that it may gain; with --mem
 * the first one takes as much as all.
 */
static void fill_needs(struct input *in, int j)
{
	const struct pollux_job *job = &in->snapshot->jobs[j];
	const bool *allowed = in->problem->jobs[j].allowed;

	in->scripts[j] = job->script;
	for (int n = 0; n < in->snapshot->node_count; n++) {
		if (allowed && !allowed[n])
			continue;
		plx_resources_raise(&in->per_gain[n], &job->per_gpu);
		plx_resources_raise(&in->per_gain[n], &job->script);
	}
}

/* What an elastic job has of a node. */
static void add_held(struct input *in, const struct plx_node_alloc *held)
{
	struct plx_resources each = plx_resources_part(&held->has, 1);

	plx_resources_add(&in->left[held->node], &held->has, 1);
	if (held->has.gpus > 0)
		plx_resources_raise(&in->per_gpu[held->node], &each);
}

/* What nodes have for all but rigid jobs, and what elastic ones take of it. */
static void fill_nodes(struct input *in)
{
	static const struct plx_resources none;

	for (int n = 0; n < in->snapshot->node_count; n++) {
		in->left[n] = in->snapshot->nodes[n].left;
		if (!in->snapshot->counts_memory)
			in->left[n].memory = INFINITY;
	}
	for (int j = 0; j < in->snapshot->job_count; j++) {
		const struct pollux_job *job = &in->snapshot->jobs[j];
		const struct plx_node_alloc *allocs =
			pollux_job_allocs(in->snapshot, job);

		for (int i = 0; i < job->alloc_count; i++)
			add_held(in, &allocs[i]);
		fill_needs(in, j);
	}
	for (int n = 0; n < in->snapshot->node_count; n++)
		plx_resources_raise(&in->left[n], &none);
}

static void add_elastic(struct input *in, int j, int n,
			const struct plx_resources *has)
{
	in->allocs[in->alloc_count++] = (struct plx_node_alloc){
		.node = n,
		.elastic = true,
		.has = *has,
		.ends_s = in->snapshot->jobs[j].ends_s,
	};
}

/* A moldable job that may not be requeued stays as it is. */
static void add_fixed(struct input *in, int j)
{
	const struct pollux_job *job = &in->snapshot->jobs[j];
	const struct plx_node_alloc *allocs =
		pollux_job_allocs(in->snapshot, job);

	for (int i = 0; i < job->alloc_count; i++) {
		if (allocs[i].has.gpus <= 0 && allocs[i].has.cpus <= 0)
			continue;
		add_elastic(in, j, allocs[i].node, &allocs[i].has);
	}
}

/* Where it has most of its GPUs; its batch host, if they are not elsewhere. */
static int most_of(const struct input *in, const struct pollux_job *job)
{
	int best = job->batch_host;

	for (int n = 0; job->roams && n < in->snapshot->node_count; n++) {
		if (job->gpus[n] > job->gpus[best])
			best = n;
	}
	return best;
}

static bool is_parked(const struct input *in, int j)
{
	const struct plx_job *job = &in->problem->jobs[j];

	return !job->fixed &&
	       !plx_shape_of(job->now, in->problem->node_count).nodes;
}

/*
 * The least that it has until it ends: some GPUs, and its script. One that is
 * parked has its script there; it waits for GPUs like others, in its turn.
 */
static void add_least(struct input *in, int j)
{
	const struct pollux_job *job = &in->snapshot->jobs[j];
	int gpus = is_parked(in, j) ? 0 : in->problem->jobs[j].min_gpus;
	int n = most_of(in, job);
	struct plx_resources least = plx_resources_part(&in->per_gpu[n], gpus);
	struct plx_resources *script = &in->scripts[j];

	least.cpus = at_least(least.cpus, script->cpus);
	if (n == job->batch_host)
		plx_resources_raise(&least, script);
	add_elastic(in, j, n, &least);
	if (n != job->batch_host)
		add_elastic(in, j, job->batch_host, script);
}

static void fill_allocs(struct input *in)
{
	const struct pollux_snapshot *snapshot = in->snapshot;

	for (int i = 0; i < snapshot->alloc_count; i++)
		in->allocs[in->alloc_count++] = snapshot->allocs[i];
	for (int j = 0; j < snapshot->job_count; j++) {
		const struct pollux_job *job = &snapshot->jobs[j];

		if (job->batch_host < 0)
			continue;
		if (pollux_moldable_is_fixed(job, &in->problem->jobs[j]))
			add_fixed(in, j);
		else
			add_least(in, j);
	}
}

/* Of the request that comes next. */
static double *next_demand(const struct input *in)
{
	return in->demand +
	       (size_t) in->count * (size_t) in->problem->consumable_kinds;
}

/* For the least number of GPUs of a parked job, on so many of these nodes. */
static void add_wake(struct input *in, int j, const bool *nodes, int count)
{
	const struct plx_job *job = &in->problem->jobs[j];
	double *demand = next_demand(in);
	int least = (job->min_gpus + count - 1) / count;
	int most = 0;

	for (int n = 0; n < in->snapshot->node_count; n++) {
		if (nodes[n] && most < in->snapshot->nodes[n].gpus)
			most = in->snapshot->nodes[n].gpus;
	}
	least = least < most ? least : most;
	for (int k = 0; job->demand && k < in->problem->consumable_kinds; k++)
		demand[k] = least * job->demand[k];
	in->waiting[in->count] = -1;
	in->requests[in->count++] = (struct plx_request){
		.id = job->id,
		.nodes = count,
		.each = { .gpus = least, .cpus = least },
		.seconds = in->snapshot->jobs[j].ends_s,
		.demand = demand,
		.allowed = nodes,
		.wakes = true,
	};
}

/* As many of the job's nodes as its least GPUs need; 0: it may use none. */
static int nodes_for_least(const struct input *in, int j)
{
	const struct plx_job *job = &in->problem->jobs[j];
	int largest = 0;

	for (int n = 0; n < in->snapshot->node_count; n++) {
		if (job->allowed[n] && largest < in->snapshot->nodes[n].gpus)
			largest = in->snapshot->nodes[n].gpus;
	}
	return largest ? (job->min_gpus + largest - 1) / largest : 0;
}

/*
 * A parked job waits as well: anywhere, or on its batch host if it needs a GPU
 * there, or, as it wakes on all nodes of its --nodelist or not at all, rather
 * on all of these.
 */
static void add_parked(struct input *in, int j)
{
	size_t first = (size_t) j * (size_t) in->snapshot->node_count;
	const bool *required = in->problem->jobs[j].required;
	const struct pollux_job *job = &in->snapshot->jobs[j];
	int at = job->batch_host;
	int count = 0;

	if (at < 0)
		return;
	if (required) {
		memcpy(in->named + first, required,
		       (size_t) in->snapshot->node_count * sizeof(*required));
		if (!job->roams)
			in->named[first + (size_t) at] = true;
		for (int n = 0; n < in->snapshot->node_count; n++)
			count += in->named[first + (size_t) n];
		add_wake(in, j, in->named + first, count);
	}
	count = nodes_for_least(in, j);
	if (job->roams && !required && count) {
		add_wake(in, j, in->problem->jobs[j].allowed, count);
		return;
	}
	in->batch_hosts[first + (size_t) at] = true;
	add_wake(in, j, in->batch_hosts + first, 1);
}

static bool preempts(const struct pollux_waiting *waiting, int j)
{
	return waiting->preempts && waiting->preempts[j];
}

static bool could_host(const struct pollux_node *node,
		       const struct pollux_waiting *waiting)
{
	return node->left.gpus + node->gpus_closing >= waiting->each.gpus &&
	       node->left.cpus >= waiting->each.cpus &&
	       !(waiting->whole_nodes && node->left.cpus < node->cpus);
}

/*
 * It has room once the epilogs of those are over who left nodes, perhaps for
 * it: nobody else is to stop meanwhile.
 */
static bool is_close(const struct input *in,
		     const struct pollux_waiting *waiting)
{
	int nodes = 0;
	bool closing = false;

	for (int n = 0; n < in->snapshot->node_count; n++) {
		const struct pollux_node *node = &in->snapshot->nodes[n];

		if (!waiting->allowed[n] || !could_host(node, waiting))
			continue;
		nodes++;
		closing = closing || node->gpus_closing > 0;
	}
	return closing && nodes >= waiting->nodes;
}

/* The job, or a copy of it in another shape. */
static struct plx_request *add_shape(struct input *in, int i,
				     const struct pollux_waiting *waiting)
{
	struct plx_request *request = &in->requests[in->count];
	double *demand = next_demand(in);
	int jobs = in->problem->job_count;
	bool *keeps = in->keeps + (size_t) in->count * (size_t) jobs;
	bool *leaves = in->leaves + (size_t) in->count * (size_t) jobs;
	bool close = is_close(in, waiting);

	/* A moldable job takes part in the search, and takes it there. */
	if (waiting->moldable < 0)
		pollux_consumables_wanted(in->snapshot, in->problem,
					  in->consumables, waiting, demand);
	/* Those behind have nothing yet. */
	for (int j = 0; j < in->snapshot->job_count; j++) {
		keeps[j] = close || (in->snapshot->jobs[j].priority >=
					     waiting->priority &&
				     !preempts(waiting, j));
		leaves[j] = in->snapshot->jobs[j].yields;
	}
	in->waiting[in->count++] = i;
	*request = (struct plx_request){
		.id = waiting->id,
		.nodes = waiting->nodes,
		.each = waiting->each,
		.demand = demand,
		.whole_nodes = waiting->whole_nodes,
		.seconds = waiting->seconds,
		.allowed = waiting->allowed,
		.keeps = keeps,
		.leaves = waiting->clears && !close ? leaves : NULL,
		.tentative = waiting->unpromised,
		.once = in->terms->one_resv_per_job,
		.draws = waiting->draws,
		.group = waiting->het,
		.group_size = waiting->het_size,
	};
	return request;
}

static void add_spread(struct input *in, int i,
		       const struct pollux_waiting *shape,
		       enum plx_effort effort)
{
	struct plx_request *request = add_shape(in, i, shape);
	size_t nodes = (size_t) in->snapshot->node_count;
	bool *open = in->open + (size_t) in->spreads++ * nodes;

	pollux_spread_open(in->snapshot, in->problem, shape,
			   effort == PLX_EFFORT_IDLE, open);
	request->allowed = open;
	request->effort = effort;
	request->tentative = true;
}

/*
 * Room for its request, or where that is not to be had for another shape:
 * rather what is idle than what others have, and rather that these shrink than
 * that they stop. What cannot be served now is promised its request.
 */
static void add_waiting(struct input *in, int i)
{
	static const enum plx_effort efforts[EFFORTS] = {
		PLX_EFFORT_IDLE,
		PLX_EFFORT_SHRINK,
		PLX_EFFORT_ALL,
	};
	const struct pollux_waiting *waiting = &in->snapshot->waiting[i];
	struct pollux_waiting shapes[POLLUX_SPREADS_MAX];
	int left = POLLUX_SPREADS_IN_ALL - in->spreads / EFFORTS;
	int count = pollux_spreads(
		in->snapshot, waiting, shapes,
		left < POLLUX_SPREADS_MAX ? left : POLLUX_SPREADS_MAX);

	for (int e = 0; count && e < EFFORTS; e++) {
		struct plx_request *first = add_shape(in, i, waiting);

		first->effort = efforts[e];
		first->tentative = true;
		for (int k = 0; k < count; k++)
			add_spread(in, i, &shapes[k], efforts[e]);
	}
	add_shape(in, i, waiting);
}

static bool counts(const struct pollux_waiting *waiting)
{
	return !waiting->ignored && !waiting->blocked && !waiting->unlicensed;
}

/* Waiting jobs that count. */
static int waiting_count(const struct input *in)
{
	return in->snapshot->waiting_count < in->terms->max_job_test
		       ? in->snapshot->waiting_count
		       : in->terms->max_job_test;
}

/* The last job that waits and may preempt the elastic one; -1: none. */
static int last_preemptor(const struct input *in, int j)
{
	int i = waiting_count(in) - 1;

	while (i >= 0 && !(counts(&in->snapshot->waiting[i]) &&
			   preempts(&in->snapshot->waiting[i], j)))
		i--;
	return i;
}

/*
 * Parked jobs above this priority that are not in the queue yet; those for
 * which one does that may preempt them wait until that has been served.
 */
static void add_parked_above(struct input *in, int i, uint64_t from,
			     uint64_t to)
{
	for (int j = 0; j < in->snapshot->job_count; j++) {
		uint64_t priority = in->snapshot->jobs[j].priority;

		if (priority >= from && priority < to && is_parked(in, j) &&
		    last_preemptor(in, j) < i)
			add_parked(in, j);
	}
}

/* It was the last one that they waited for. */
static void add_preempted(struct input *in, int i, uint64_t above)
{
	for (int j = 0; j < in->snapshot->job_count; j++) {
		if (in->snapshot->jobs[j].priority >= above &&
		    preempts(&in->snapshot->waiting[i], j) &&
		    is_parked(in, j) && last_preemptor(in, j) == i)
			add_parked(in, j);
	}
}

/* Of those from the i-th on: who preempts may come before higher priorities. */
static uint64_t highest_from(const struct input *in, int i)
{
	uint64_t highest = 0;

	for (; i < waiting_count(in); i++) {
		if (in->snapshot->waiting[i].priority > highest)
			highest = in->snapshot->waiting[i].priority;
	}
	return highest;
}

static void fill_requests(struct input *in)
{
	uint64_t above = UINT64_MAX;

	for (int i = 0; i < waiting_count(in); i++) {
		const struct pollux_waiting *waiting =
			&in->snapshot->waiting[i];
		uint64_t highest = highest_from(in, i);

		if (highest < above) {
			add_parked_above(in, i, highest, above);
			above = highest;
		}
		if (!counts(waiting))
			continue;
		add_waiting(in, i);
		add_preempted(in, i, above);
	}
}

int pollux_reservations_make(const struct pollux_snapshot *snapshot,
			     const struct pollux_terms *terms,
			     struct plx_problem *problem,
			     const struct pollux_consumables *consumables,
			     struct plx_grant *grants, struct plx_error *err)
{
	struct input in = { .snapshot = snapshot,
			    .problem = problem,
			    .consumables = consumables,
			    .terms = terms };
	struct plx_residual residual;
	int rc = -1;

	if (!snapshot->waiting_count)
		return 0;
	if (get_memory(&in, err) < 0)
		goto done;
	fill_nodes(&in);
	fill_allocs(&in);
	fill_requests(&in);
	residual = (struct plx_residual){
		.left = in.left,
		.per_gpu = in.per_gpu,
		.per_gain = in.per_gain,
		.scripts = in.scripts,
		.allocs = in.allocs,
		.alloc_count = in.alloc_count,
		.now_s = (double) snapshot->now,
		.resolution_s = terms->resolution_s,
		.window_s = terms->window_s,
		.soon_s = SOON_S,
		.together_s = POLLUX_EPILOG_S,
		.pools = snapshot->licences,
		.pool_count = snapshot->licence_count,
		.pools_wait = terms->licences,
	};
	for (int i = 0; i < in.count; i++) {
		if (in.waiting[i] < 0)
			continue;
		in.grants[i] = grants[in.waiting[i]];
		grants[in.waiting[i]].granted = false;
	}
	rc = plx_reservation_make_groups(problem, &residual, in.requests,
					 in.count, in.grants, err);
	for (int i = 0; i < in.count && rc == 0; i++) {
		int w = in.waiting[i];

		/* The last of its requests, unless one was served. */
		if (w >= 0 && !grants[w].granted)
			grants[w] = in.grants[i];
	}
done:
	release(&in);
	return rc;
}
