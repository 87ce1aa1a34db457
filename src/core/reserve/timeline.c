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

/* What is free of a node at a time. */
struct amount {
	double gpus, cpus, memory;
	int jobs; /* that still are there */
};

struct plx_calendar {
	const struct plx_problem *problem;
	const struct plx_rest *rest;
	struct amount *now;  /* [node_count] */
	struct amount *then; /* [node_count] at the time being tried */
	bool *promised;	     /* [node_count] to others at that time */
	struct plx_stay *stays;
	int stay_count;
	struct block *blocks;
	int block_count;
	double *times;
};

void plx_calendar_destroy(struct plx_calendar *calendar)
{
	if (!calendar)
		return;
	free(calendar->now);
	free(calendar->then);
	free(calendar->promised);
	free(calendar->stays);
	free(calendar->blocks);
	free(calendar->times);
	free(calendar);
}

static void add_stay(struct plx_calendar *calendar, const struct plx_stay *stay)
{
	calendar->stays[calendar->stay_count++] = *stay;
	calendar->now[stay->node].jobs++;
}

static void occupy(struct plx_calendar *calendar, const struct plx_stay *stay)
{
	struct amount *node = &calendar->now[stay->node];

	node->gpus -= stay->gpus;
	node->cpus -= stay->cpus;
	node->memory -= stay->memory;
	add_stay(calendar, stay);
}

static void fill(struct plx_calendar *calendar)
{
	const struct plx_rest *rest = calendar->rest;

	for (int n = 0; n < calendar->problem->node_count; n++) {
		calendar->now[n] = (struct amount){
			.gpus = calendar->problem->gpus[n],
			.cpus = rest->cpus ? rest->cpus[n] : INFINITY,
			.memory = rest->memory ? rest->memory[n] : INFINITY,
		};
	}
	/* Of what rigid jobs hold, gpus[], cpus[] and memory[] know already. */
	for (int i = 0; i < rest->stay_count; i++) {
		if (rest->stays[i].elastic)
			occupy(calendar, &rest->stays[i]);
		else
			add_stay(calendar, &rest->stays[i]);
	}
}

struct plx_calendar *plx_calendar_create(const struct plx_problem *problem,
					 const struct plx_rest *rest,
					 const struct plx_request *requests,
					 int count, struct plx_error *err)
{
	struct plx_calendar *calendar = calloc(1, sizeof(*calendar));
	size_t nodes = (size_t) problem->node_count + 1;
	size_t blocks = 1;
	size_t stays = 0;

	for (int i = 0; i < count; i++)
		blocks += requests[i].nodes < problem->node_count
				  ? (size_t) requests[i].nodes
				  : nodes;
	stays = (size_t) rest->stay_count + blocks;
	if (!calendar)
		goto fail;
	calendar->problem = problem;
	calendar->rest = rest;
	calendar->now = calloc(nodes, sizeof(*calendar->now));
	calendar->then = calloc(nodes, sizeof(*calendar->then));
	calendar->promised = calloc(nodes, sizeof(*calendar->promised));
	calendar->stays = calloc(stays, sizeof(*calendar->stays));
	calendar->blocks = calloc(blocks, sizeof(*calendar->blocks));
	calendar->times = calloc(stays + blocks, sizeof(*calendar->times));
	if (!calendar->now || !calendar->then || !calendar->promised ||
	    !calendar->stays || !calendar->blocks || !calendar->times)
		goto fail;
	fill(calendar);
	return calendar;
fail:
	plx_calendar_destroy(calendar);
	plx_fail(err, "no memory for a calendar");
	return NULL;
}

void plx_calendar_start(struct plx_calendar *calendar,
			const struct plx_request *request, int node, int gpus)
{
	occupy(calendar, &(struct plx_stay){ .node = node,
					     .gpus = gpus,
					     .cpus = request->cpus,
					     .memory = request->memory,
					     .ends_s = request->seconds });
}

bool plx_calendar_open(const struct plx_calendar *calendar,
		       const struct plx_request *request, int node)
{
	for (int i = 0; i < calendar->block_count; i++) {
		const struct block *block = &calendar->blocks[i];

		if (block->node == node && block->from_s <= request->seconds)
			return false;
	}
	return true;
}

bool plx_calendar_soon(const struct plx_calendar *calendar, int node)
{
	for (int i = 0; i < calendar->block_count; i++) {
		const struct block *block = &calendar->blocks[i];

		if (block->node == node &&
		    block->at_s <= calendar->rest->soon_s)
			return true;
	}
	return false;
}

static int by_value(const void *a, const void *b)
{
	double x = *(const double *) a;
	double y = *(const double *) b;

	return (x > y) - (x < y);
}

/* All times at which somebody ends or a promise does, rising; their number. */
static int collect_times(struct plx_calendar *calendar)
{
	int count = 0;
	int kept = 0;
	double *times = calendar->times;

	for (int i = 0; i < calendar->stay_count; i++)
		times[count++] = fmax(calendar->stays[i].ends_s, 0);
	for (int i = 0; i < calendar->block_count; i++)
		times[count++] = calendar->blocks[i].to_s;
	qsort(times, (size_t) count, sizeof(*times), by_value);
	for (int i = 0; i < count; i++) {
		if (kept == 0 || times[i] > times[kept - 1])
			times[kept++] = times[i];
	}
	return kept;
}

/* What is free at a time, and what is promised then, for so long. */
static void look_at(struct plx_calendar *calendar, double at_s, double seconds)
{
	size_t nodes = (size_t) calendar->problem->node_count;

	memcpy(calendar->then, calendar->now, nodes * sizeof(*calendar->now));
	memset(calendar->promised, 0, nodes * sizeof(*calendar->promised));
	for (int i = 0; i < calendar->stay_count; i++) {
		const struct plx_stay *stay = &calendar->stays[i];
		struct amount *node = &calendar->then[stay->node];

		if (stay->ends_s > at_s)
			continue;
		node->gpus += stay->gpus;
		node->cpus += stay->cpus;
		node->memory += stay->memory;
		node->jobs--;
	}
	for (int i = 0; i < calendar->block_count; i++) {
		const struct block *block = &calendar->blocks[i];

		if (block->from_s <= at_s + seconds && block->to_s > at_s)
			calendar->promised[block->node] = true;
	}
}

static bool fits(const struct plx_calendar *calendar,
		 const struct plx_request *request, int n)
{
	const struct amount *node = &calendar->then[n];

	if (calendar->promised[n] || (request->allowed && !request->allowed[n]))
		return false;
	if (request->whole_nodes && node->jobs > 0)
		return false;
	return node->gpus >= request->gpus_per_node &&
	       node->cpus >= request->cpus && node->memory >= request->memory;
}

static double rounded(const struct plx_calendar *calendar, double at_s)
{
	double step_s = calendar->rest->resolution_s;
	double now_s = calendar->rest->now_s;

	return step_s > 0 ? floor((now_s + at_s) / step_s) * step_s - now_s
			  : at_s;
}

/* The nodes are the request's from then on, if there are enough. */
static bool promise_at(struct plx_calendar *calendar,
		       const struct plx_request *request, double at_s,
		       bool *promised)
{
	int first = calendar->block_count;
	int nodes = 0;

	for (int n = 0;
	     n < calendar->problem->node_count && nodes < request->nodes; n++) {
		if (!fits(calendar, request, n))
			continue;
		calendar->blocks[first + nodes++] = (struct block){
			.node = n,
			.from_s = rounded(calendar, at_s),
			.to_s = rounded(calendar, at_s + request->seconds),
			.at_s = at_s,
		};
	}
	if (nodes < request->nodes)
		return false;
	for (int i = first; promised && i < first + nodes; i++)
		promised[calendar->blocks[i].node] = true;
	calendar->block_count += nodes;
	return true;
}

double plx_calendar_promise(struct plx_calendar *calendar,
			    const struct plx_request *request, bool *nodes)
{
	int count = collect_times(calendar);

	count = count < TIMES_MAX ? count : TIMES_MAX;
	for (int i = 0; i < count; i++) {
		double at_s = calendar->times[i];

		if (calendar->rest->window_s > 0 &&
		    at_s > calendar->rest->window_s)
			break;
		look_at(calendar, at_s, request->seconds);
		if (promise_at(calendar, request, at_s, nodes))
			return at_s;
	}
	return INFINITY;
}
