/* SPDX-License-Identifier: MIT */
/*
 * timeline.c - when a job that cannot start now could
 *
 * The state of the nodes changes only when a job ends, so only those times
 * are tried, and of these the first ones: promises far away do not matter.
 * As in Slurm's backfill a promise is for whole nodes.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/reserve/timeline.h"

#define TIMES_MAX 256 /* tried for one request */

/* Nodes that are promised to somebody. */
struct block {
	int node;
	double from_s, to_s; /* rounded */
	double at_s;	     /* from when, as time limits say */
};

/* A node at a time. */
struct moment {
	struct plx_resources left;
	int jobs; /* that still are there */
};

struct plx_timeline {
	const struct plx_problem *problem;
	const struct plx_residual *residual;
	struct moment *now;  /* [node_count] */
	struct moment *then; /* [node_count] at the time being tried */
	bool *promised;	     /* [node_count] to others at that time */
	struct plx_node_alloc *allocs;
	int alloc_count;
	struct block *blocks;
	int block_count;
	/* [node_count] the earliest of the node's blocks; NAN: none */
	double *from_s, *at_s;
	double *times;
};

void plx_timeline_destroy(struct plx_timeline *timeline)
{
	if (!timeline)
		return;
	free(timeline->now);
	free(timeline->then);
	free(timeline->promised);
	free(timeline->allocs);
	free(timeline->blocks);
	free(timeline->from_s);
	free(timeline->at_s);
	free(timeline->times);
	free(timeline);
}

static void add_alloc(struct plx_timeline *timeline,
		      const struct plx_node_alloc *alloc)
{
	timeline->allocs[timeline->alloc_count++] = *alloc;
	timeline->now[alloc->node].jobs++;
}

static void occupy(struct plx_timeline *timeline,
		   const struct plx_node_alloc *alloc)
{
	plx_resources_add(&timeline->now[alloc->node].left, &alloc->has, -1);
	add_alloc(timeline, alloc);
}

static void fill(struct plx_timeline *timeline)
{
	static const struct plx_resources unlimited = { .cpus = INFINITY,
							.memory = INFINITY };
	const struct plx_residual *residual = timeline->residual;

	for (int n = 0; n < timeline->problem->node_count; n++) {
		struct plx_resources *left = &timeline->now[n].left;

		*left = residual->left ? residual->left[n] : unlimited;
		left->gpus = timeline->problem->gpus[n];
		timeline->from_s[n] = timeline->at_s[n] = NAN;
	}
	/* Of what rigid jobs hold, gpus[] and left[] know already. */
	for (int i = 0; i < residual->alloc_count; i++) {
		if (residual->allocs[i].elastic)
			occupy(timeline, &residual->allocs[i]);
		else
			add_alloc(timeline, &residual->allocs[i]);
	}
}

struct plx_timeline *plx_timeline_create(const struct plx_problem *problem,
					 const struct plx_residual *residual,
					 const struct plx_request *requests,
					 int count, struct plx_error *err)
{
	struct plx_timeline *timeline = calloc(1, sizeof(*timeline));
	size_t nodes = (size_t) problem->node_count + 1;
	size_t blocks = 1;
	size_t allocs = 0;

	for (int i = 0; i < count; i++)
		blocks += requests[i].nodes < problem->node_count
				  ? (size_t) requests[i].nodes
				  : nodes;
	allocs = (size_t) residual->alloc_count + blocks;
	if (!timeline)
		goto fail;
	timeline->problem = problem;
	timeline->residual = residual;
	timeline->now = calloc(nodes, sizeof(*timeline->now));
	timeline->then = calloc(nodes, sizeof(*timeline->then));
	timeline->promised = calloc(nodes, sizeof(*timeline->promised));
	timeline->allocs = calloc(allocs, sizeof(*timeline->allocs));
	timeline->blocks = calloc(blocks, sizeof(*timeline->blocks));
	timeline->from_s = calloc(nodes, sizeof(*timeline->from_s));
	timeline->at_s = calloc(nodes, sizeof(*timeline->at_s));
	timeline->times = calloc(allocs + blocks, sizeof(*timeline->times));
	if (!timeline->now || !timeline->then || !timeline->promised ||
	    !timeline->allocs || !timeline->blocks || !timeline->from_s ||
	    !timeline->at_s || !timeline->times)
		goto fail;
	fill(timeline);
	return timeline;
fail:
	plx_timeline_destroy(timeline);
	plx_fail(err, "no memory for a timeline");
	return NULL;
}

void plx_timeline_start(struct plx_timeline *timeline,
			const struct plx_request *request, int node, int gpus)
{
	struct plx_node_alloc alloc = { .node = node,
					.has = request->each,
					.ends_s = request->seconds };

	alloc.has.gpus = gpus;
	occupy(timeline, &alloc);
}

bool plx_timeline_open(const struct plx_timeline *timeline,
		       const struct plx_request *request, int node)
{
	return !(timeline->from_s[node] <= request->seconds);
}

bool plx_timeline_soon(const struct plx_timeline *timeline, int node)
{
	return timeline->at_s[node] <= timeline->residual->soon_s;
}

static int by_value(const void *a, const void *b)
{
	double x = *(const double *) a;
	double y = *(const double *) b;

	return (x > y) - (x < y);
}

/* All times at which somebody ends or a promise does, rising; their number. */
static int collect_times(struct plx_timeline *timeline)
{
	int count = 0;
	int kept = 0;
	double *times = timeline->times;

	for (int i = 0; i < timeline->alloc_count; i++)
		times[count++] = fmax(timeline->allocs[i].ends_s, 0);
	for (int i = 0; i < timeline->block_count; i++)
		times[count++] = timeline->blocks[i].to_s;
	qsort(times, (size_t) count, sizeof(*times), by_value);
	for (int i = 0; i < count; i++) {
		if (kept == 0 || times[i] > times[kept - 1])
			times[kept++] = times[i];
	}
	return kept;
}

/* What is free at a time, and what is promised then, for so long. */
static void look_at(struct plx_timeline *timeline, double at_s, double seconds)
{
	size_t nodes = (size_t) timeline->problem->node_count;

	memcpy(timeline->then, timeline->now, nodes * sizeof(*timeline->now));
	memset(timeline->promised, 0, nodes * sizeof(*timeline->promised));
	for (int i = 0; i < timeline->alloc_count; i++) {
		const struct plx_node_alloc *alloc = &timeline->allocs[i];
		struct moment *node = &timeline->then[alloc->node];

		if (alloc->ends_s > at_s)
			continue;
		plx_resources_add(&node->left, &alloc->has, 1);
		node->jobs--;
	}
	for (int i = 0; i < timeline->block_count; i++) {
		const struct block *block = &timeline->blocks[i];

		if (block->from_s <= at_s + seconds && block->to_s > at_s)
			timeline->promised[block->node] = true;
	}
}

static bool fits(const struct plx_timeline *timeline,
		 const struct plx_request *request, int n)
{
	const struct moment *node = &timeline->then[n];

	if (timeline->promised[n] || (request->allowed && !request->allowed[n]))
		return false;
	if (request->whole_nodes && node->jobs > 0)
		return false;
	return plx_resources_fit(&request->each, &node->left);
}

static double rounded(const struct plx_timeline *timeline, double at_s)
{
	double step_s = timeline->residual->resolution_s;
	double now_s = timeline->residual->now_s;

	return step_s > 0 ? floor((now_s + at_s) / step_s) * step_s - now_s
			  : at_s;
}

/* The nodes are the request's from then on, if there are enough. */
static bool promise_at(struct plx_timeline *timeline,
		       const struct plx_request *request, double at_s,
		       bool *promised)
{
	int first = timeline->block_count;
	int nodes = 0;

	for (int n = 0;
	     n < timeline->problem->node_count && nodes < request->nodes; n++) {
		if (!fits(timeline, request, n))
			continue;
		timeline->blocks[first + nodes++] = (struct block){
			.node = n,
			.from_s = rounded(timeline, at_s),
			.to_s = rounded(timeline, at_s + request->seconds),
			.at_s = at_s,
		};
	}
	if (nodes < request->nodes)
		return false;
	for (int i = first; i < first + nodes; i++) {
		const struct block *block = &timeline->blocks[i];
		int n = block->node;

		if (promised)
			promised[n] = true;
		timeline->from_s[n] = fmin(timeline->from_s[n], block->from_s);
		timeline->at_s[n] = fmin(timeline->at_s[n], block->at_s);
	}
	timeline->block_count += nodes;
	return true;
}

double plx_timeline_promise(struct plx_timeline *timeline,
			    const struct plx_request *request, bool *nodes)
{
	int count = collect_times(timeline);

	count = count < TIMES_MAX ? count : TIMES_MAX;
	for (int i = 0; i < count; i++) {
		double at_s = timeline->times[i];

		if (timeline->residual->window_s > 0 &&
		    at_s > timeline->residual->window_s)
			break;
		look_at(timeline, at_s, request->seconds);
		if (promise_at(timeline, request, at_s, nodes))
			return at_s;
	}
	return INFINITY;
}
