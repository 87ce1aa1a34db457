/* SPDX-License-Identifier: GPL-2.0-or-later */
/* reservations.c - room for the jobs of a view that wait */

#include <stdlib.h>
#include <string.h>

#include "sched/pollux/plan/mold.h"
#include "sched/pollux/plan/reservations.h"
#include "sched/pollux/plan/spread.h"

/* Each other shape is tried with each effort, and open to nodes for each. */
#define EFFORTS 3
/* Elastic jobs do not grow for less. */
#define SOON_S 30

/* All that plx_room_reserve() is to be told. */
struct rooms {
	const struct pollux_view *view;
	const struct plx_problem *problem;
	const struct pollux_stock *stock;
	int limit; /* waiting jobs that count */
	double *cpus;
	double *memory;
	double *cpus_per_gpu;
	double *memory_per_gpu;
	struct plx_stay *stays;
	int stay_count;
	struct plx_request *requests;
	struct plx_grant *grants; /* in the order of requests */
	int *waiting; /* [count] index of the request's job; -1: it wakes */
	int count;
	bool *keeps;   /* [problem->job_count] for each request */
	bool *leaves;  /* the same */
	bool *homes;   /* [node_count] for each job: its home alone */
	bool *named;   /* the same: its home and those of --nodelist */
	double *takes; /* [problem->stock_kinds] for each request */
	bool *open;    /* [node_count] for each request of another shape */
	int spreads;   /* other shapes so far */
};

static double at_least(double a, double b)
{
	return a > b ? a : b;
}

static void release(struct rooms *rooms)
{
	free(rooms->cpus);
	free(rooms->memory);
	free(rooms->cpus_per_gpu);
	free(rooms->memory_per_gpu);
	free(rooms->stays);
	free(rooms->requests);
	free(rooms->grants);
	free(rooms->waiting);
	free(rooms->keeps);
	free(rooms->leaves);
	free(rooms->homes);
	free(rooms->named);
	free(rooms->takes);
	free(rooms->open);
}

static int get_memory(struct rooms *rooms, struct plx_error *err)
{
	size_t nodes = (size_t) rooms->view->node_count + 1;
	size_t jobs = (size_t) rooms->problem->job_count + 1;
	size_t spreads = EFFORTS * POLLUX_SPREADS_IN_ALL;
	/* A job is tried as it is with each effort, too, and then once more. */
	size_t most = (EFFORTS + 1) * (size_t) rooms->view->waiting_count +
		      spreads + 2 * jobs;
	size_t kinds = (size_t) rooms->problem->stock_kinds;
	size_t stays = (size_t) rooms->view->stay_count + 2 * jobs +
		       (size_t) pollux_mold_stays(rooms->view, rooms->problem);

	rooms->cpus = calloc(nodes, sizeof(double));
	rooms->memory = calloc(nodes, sizeof(double));
	rooms->cpus_per_gpu = calloc(nodes, sizeof(double));
	rooms->memory_per_gpu = calloc(nodes, sizeof(double));
	rooms->stays = calloc(stays, sizeof(*rooms->stays));
	rooms->requests = calloc(most, sizeof(*rooms->requests));
	rooms->grants = calloc(most, sizeof(*rooms->grants));
	rooms->waiting = calloc(most, sizeof(*rooms->waiting));
	rooms->keeps = calloc(most * jobs, sizeof(bool));
	rooms->leaves = calloc(most * jobs, sizeof(bool));
	rooms->homes = calloc(nodes * jobs, sizeof(bool));
	rooms->named = calloc(nodes * jobs, sizeof(bool));
	rooms->takes = calloc(most * kinds + 1, sizeof(double));
	rooms->open = calloc(spreads * nodes, sizeof(bool));
	if (!rooms->cpus || !rooms->memory || !rooms->cpus_per_gpu ||
	    !rooms->memory_per_gpu || !rooms->stays || !rooms->requests ||
	    !rooms->grants || !rooms->waiting || !rooms->keeps ||
	    !rooms->leaves || !rooms->homes || !rooms->named || !rooms->takes ||
	    !rooms->open)
		return plx_fail(err, "no memory for the jobs that wait");
	return 0;
}

/* What nodes have for all but rigid jobs, and what elastic ones take of it. */
static void fill_nodes(struct rooms *rooms)
{
	for (int n = 0; n < rooms->view->node_count; n++) {
		const struct pollux_node *node = &rooms->view->nodes[n];

		rooms->cpus[n] = node->cpus - node->cpus_used;
		rooms->memory[n] = node->memory - node->memory_used;
	}
	for (int j = 0; j < rooms->view->job_count; j++) {
		const struct pollux_job *job = &rooms->view->jobs[j];

		for (int n = 0; n < rooms->view->node_count; n++) {
			int gpus = job->gpus[n];

			rooms->cpus[n] += job->cpus[n];
			rooms->memory[n] += job->memory[n];
			if (!gpus)
				continue;
			rooms->cpus_per_gpu[n] =
				at_least(rooms->cpus_per_gpu[n],
					 (double) job->cpus[n] / gpus);
			rooms->memory_per_gpu[n] =
				at_least(rooms->memory_per_gpu[n],
					 job->memory[n] / gpus);
		}
	}
	for (int n = 0; n < rooms->view->node_count; n++) {
		rooms->cpus[n] = at_least(rooms->cpus[n], 0);
		rooms->memory[n] = at_least(rooms->memory[n], 0);
	}
}

/* A moldable job that may not be requeued stays as it is. */
static void add_fixed(struct rooms *rooms, const struct pollux_job *job)
{
	for (int n = 0; n < rooms->view->node_count; n++) {
		if (!job->gpus[n] && !job->cpus[n])
			continue;
		rooms->stays[rooms->stay_count++] = (struct plx_stay){
			.node = n,
			.gpus = job->gpus[n],
			.cpus = job->cpus[n],
			.memory = job->memory[n],
			.ends_s = job->ends_s,
			.elastic = true,
		};
	}
}

/* Where it has most of its GPUs; its home, if they are not elsewhere. */
static int most_of(const struct rooms *rooms, const struct pollux_job *job)
{
	int best = job->home;

	for (int n = 0; job->roams && n < rooms->view->node_count; n++) {
		if (job->gpus[n] > job->gpus[best])
			best = n;
	}
	return best;
}

/* The least that it has until it ends: some GPUs, and its script. */
static void add_least(struct rooms *rooms, int j)
{
	const struct pollux_job *job = &rooms->view->jobs[j];
	int gpus = rooms->problem->jobs[j].min_gpus;
	int n = most_of(rooms, job);

	rooms->stays[rooms->stay_count++] = (struct plx_stay){
		.node = n,
		.gpus = gpus,
		.cpus = at_least(gpus * rooms->cpus_per_gpu[n],
				 POLLUX_HOME_CPUS),
		.memory = gpus * rooms->memory_per_gpu[n],
		.ends_s = job->ends_s,
		.elastic = true,
	};
	if (n == job->home)
		return;
	rooms->stays[rooms->stay_count++] = (struct plx_stay){
		.node = job->home,
		.cpus = POLLUX_HOME_CPUS,
		.ends_s = job->ends_s,
		.elastic = true,
	};
}

static void fill_stays(struct rooms *rooms)
{
	const struct pollux_view *view = rooms->view;

	for (int i = 0; i < view->stay_count; i++) {
		const struct pollux_stay *from = &view->stays[i];

		rooms->stays[rooms->stay_count++] = (struct plx_stay){
			.node = from->node,
			.gpus = from->gpus,
			.cpus = from->cpus,
			.memory = from->memory,
			.ends_s = from->ends_s,
		};
	}
	for (int j = 0; j < view->job_count; j++) {
		const struct pollux_job *job = &view->jobs[j];

		if (job->home < 0)
			continue;
		if (pollux_mold_is_fixed(job, &rooms->problem->jobs[j]))
			add_fixed(rooms, job);
		else
			add_least(rooms, j);
	}
}

/* Of the request that comes next. */
static double *next_takes(const struct rooms *rooms)
{
	return rooms->takes +
	       (size_t) rooms->count * (size_t) rooms->problem->stock_kinds;
}

/* For the least number of GPUs of a parked job, on so many of these nodes. */
static void add_wake(struct rooms *rooms, int j, const bool *nodes, int count)
{
	const struct plx_job *job = &rooms->problem->jobs[j];
	double *takes = next_takes(rooms);
	int least = (job->min_gpus + count - 1) / count;
	int most = 0;

	for (int n = 0; n < rooms->view->node_count; n++) {
		if (nodes[n] && most < rooms->view->nodes[n].gpus)
			most = rooms->view->nodes[n].gpus;
	}
	least = least < most ? least : most;
	for (int k = 0; job->takes && k < rooms->problem->stock_kinds; k++)
		takes[k] = least * job->takes[k];
	rooms->waiting[rooms->count] = -1;
	rooms->requests[rooms->count++] = (struct plx_request){
		.id = job->id,
		.nodes = count,
		.gpus_per_node = least,
		.cpus = least,
		.seconds = rooms->view->jobs[j].ends_s,
		.takes = takes,
		.allowed = nodes,
		.wakes = true,
	};
}

/* As many of the job's nodes as its least GPUs need; 0: it may use none. */
static int nodes_for_least(const struct rooms *rooms, int j)
{
	const struct plx_job *job = &rooms->problem->jobs[j];
	int largest = 0;

	for (int n = 0; n < rooms->view->node_count; n++) {
		if (job->allowed[n] && largest < rooms->view->nodes[n].gpus)
			largest = rooms->view->nodes[n].gpus;
	}
	return largest ? (job->min_gpus + largest - 1) / largest : 0;
}

/*
 * A parked job waits as well: anywhere, or at its home if it needs a GPU there,
 * or, as it wakes on all nodes of its --nodelist or not at all, rather on all
 * of these.
 */
static void add_parked(struct rooms *rooms, int j)
{
	size_t first = (size_t) j * (size_t) rooms->view->node_count;
	const bool *required = rooms->problem->jobs[j].required;
	const struct pollux_job *job = &rooms->view->jobs[j];
	int at = job->home;
	int count = 0;

	if (at < 0)
		return;
	if (required) {
		memcpy(rooms->named + first, required,
		       (size_t) rooms->view->node_count * sizeof(*required));
		if (!job->roams)
			rooms->named[first + (size_t) at] = true;
		for (int n = 0; n < rooms->view->node_count; n++)
			count += rooms->named[first + (size_t) n];
		add_wake(rooms, j, rooms->named + first, count);
	}
	count = nodes_for_least(rooms, j);
	if (job->roams && !required && count) {
		add_wake(rooms, j, rooms->problem->jobs[j].allowed, count);
		return;
	}
	rooms->homes[first + (size_t) at] = true;
	add_wake(rooms, j, rooms->homes + first, 1);
}

/* The job, or a copy of it in another shape. */
static struct plx_request *add_shape(struct rooms *rooms, int i,
				     const struct pollux_waiting *waiting)
{
	struct plx_request *request = &rooms->requests[rooms->count];
	double *takes = next_takes(rooms);
	int jobs = rooms->problem->job_count;
	bool *keeps = rooms->keeps + (size_t) rooms->count * (size_t) jobs;
	bool *leaves = rooms->leaves + (size_t) rooms->count * (size_t) jobs;

	/* A moldable job takes part in the search, and takes it there. */
	if (waiting->mold < 0)
		pollux_stock_wanted(rooms->view, rooms->problem, rooms->stock,
				    waiting, takes);
	/* Those behind have nothing yet. */
	for (int j = 0; j < rooms->view->job_count; j++) {
		keeps[j] = rooms->view->jobs[j].priority >= waiting->priority;
		leaves[j] = rooms->view->jobs[j].yields;
	}
	rooms->waiting[rooms->count++] = i;
	*request = (struct plx_request){
		.id = waiting->id,
		.nodes = waiting->nodes,
		.gpus_per_node = waiting->gpus_per_node,
		.cpus = waiting->cpus,
		.memory = waiting->memory,
		.takes = takes,
		.whole_nodes = waiting->whole_nodes,
		.seconds = waiting->seconds,
		.allowed = waiting->allowed,
		.keeps = keeps,
		.leaves = waiting->clears ? leaves : NULL,
	};
	return request;
}

static void add_spread(struct rooms *rooms, int i,
		       const struct pollux_waiting *shape,
		       enum plx_effort effort)
{
	struct plx_request *request = add_shape(rooms, i, shape);
	size_t nodes = (size_t) rooms->view->node_count;
	bool *open = rooms->open + (size_t) rooms->spreads++ * nodes;

	pollux_spread_open(rooms->view, rooms->problem, shape,
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
static void add_waiting(struct rooms *rooms, int i)
{
	static const enum plx_effort efforts[EFFORTS] = {
		PLX_EFFORT_IDLE,
		PLX_EFFORT_SHRINK,
		PLX_EFFORT_ALL,
	};
	const struct pollux_waiting *waiting = &rooms->view->waiting[i];
	struct pollux_waiting shapes[POLLUX_SPREADS_MAX];
	int left = POLLUX_SPREADS_IN_ALL - rooms->spreads / EFFORTS;
	int count = pollux_spreads(
		rooms->view, waiting, shapes,
		left < POLLUX_SPREADS_MAX ? left : POLLUX_SPREADS_MAX);

	for (int e = 0; count && e < EFFORTS; e++) {
		struct plx_request *first = add_shape(rooms, i, waiting);

		first->effort = efforts[e];
		first->tentative = true;
		for (int k = 0; k < count; k++)
			add_spread(rooms, i, &shapes[k], efforts[e]);
	}
	add_shape(rooms, i, waiting);
}

static bool is_parked(const struct rooms *rooms, int j)
{
	const struct plx_job *job = &rooms->problem->jobs[j];

	for (int n = 0; n < rooms->view->node_count; n++) {
		if (job->now[n] > 0)
			return false;
	}
	return !job->pinned;
}

/* Parked jobs above this priority that are not in the queue yet. */
static void add_parked_above(struct rooms *rooms, uint64_t from, uint64_t to)
{
	for (int j = 0; j < rooms->view->job_count; j++) {
		uint64_t priority = rooms->view->jobs[j].priority;

		if (priority >= from && priority < to && is_parked(rooms, j))
			add_parked(rooms, j);
	}
}

static void fill_requests(struct rooms *rooms)
{
	const struct pollux_view *view = rooms->view;
	uint64_t above = UINT64_MAX;

	for (int i = 0; i < view->waiting_count && i < rooms->limit; i++) {
		const struct pollux_waiting *waiting = &view->waiting[i];

		if (waiting->priority < above)
			add_parked_above(rooms, waiting->priority, above);
		above = waiting->priority;
		if (!waiting->ignored && !waiting->blocked)
			add_waiting(rooms, i);
	}
}

int pollux_rooms_make(const struct pollux_view *view,
		      const struct pollux_terms *terms,
		      struct plx_problem *problem,
		      const struct pollux_stock *stock,
		      struct plx_grant *grants, struct plx_error *err)
{
	struct rooms rooms = { .view = view,
			       .problem = problem,
			       .stock = stock,
			       .limit = terms->max_job_test };
	struct plx_rest rest;
	int rc = -1;

	if (!view->waiting_count)
		return 0;
	if (get_memory(&rooms, err) < 0)
		goto done;
	fill_nodes(&rooms);
	fill_stays(&rooms);
	fill_requests(&rooms);
	rest = (struct plx_rest){
		.cpus = rooms.cpus,
		.memory = view->counts_memory ? rooms.memory : NULL,
		.cpus_per_gpu = rooms.cpus_per_gpu,
		.memory_per_gpu = rooms.memory_per_gpu,
		.home_cpus = POLLUX_HOME_CPUS,
		.stays = rooms.stays,
		.stay_count = rooms.stay_count,
		.now_s = (double) view->now,
		.resolution_s = terms->resolution_s,
		.window_s = terms->window_s,
		.soon_s = SOON_S,
	};
	for (int i = 0; i < rooms.count; i++) {
		if (rooms.waiting[i] < 0)
			continue;
		rooms.grants[i] = grants[rooms.waiting[i]];
		grants[rooms.waiting[i]].granted = false;
	}
	rc = plx_room_reserve(problem, &rest, rooms.requests, rooms.count,
			      rooms.grants, err);
	for (int i = 0; i < rooms.count && rc == 0; i++) {
		int w = rooms.waiting[i];

		/* The last of its requests, unless one was served. */
		if (w >= 0 && !grants[w].granted)
			grants[w] = rooms.grants[i];
	}
done:
	release(&rooms);
	return rc;
}
