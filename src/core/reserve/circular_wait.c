/* SPDX-License-Identifier: MIT */
/* circular_wait.c - a plan in which jobs wait for each other */

#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "core/reserve/circular_wait.h"

struct circle {
	const struct plx_problem *problem;
	const struct plx_plan *plan;
	bool *waits; /* [job_count] its choice cannot be carried out */
	int *idle;   /* [node_count] once all others' are */
};

static int gains(const struct circle *circle, int j, int n)
{
	return circle->plan->choices[j].gpus[n] -
	       circle->problem->jobs[j].now[n];
}

static bool fits(const struct circle *circle, int j)
{
	for (int n = 0; n < circle->problem->node_count; n++) {
		int more = gains(circle, j, n);

		if (more > 0 && more > circle->idle[n])
			return false;
	}
	return true;
}

/* Whatever can be carried out is, one after the other. */
static void carry_out(struct circle *circle)
{
	bool moved = true;

	while (moved) {
		moved = false;
		for (int j = 0; j < circle->problem->job_count; j++) {
			if (!circle->waits[j] || !fits(circle, j))
				continue;
			for (int n = 0; n < circle->problem->node_count; n++)
				circle->idle[n] -= gains(circle, j, n);
			circle->waits[j] = false;
			moved = true;
		}
	}
}

/* May the job have that many GPUs on that many nodes? */
static bool may_have(const struct plx_job *job, int gpus, int nodes)
{
	return plx_listed(job->sizes, job->size_count, gpus) &&
	       gpus >= job->min_gpus && nodes >= job->min_nodes;
}

/*
 * What its two shapes share, as much on each node where that is the rule.
 * Returns how many GPUs it gives up for that, 0: it cannot.
 */
static int share(const struct circle *circle, int j, int *gpus)
{
	const struct plx_job *job = &circle->problem->jobs[j];
	int least = INT_MAX;
	int nodes = 0;
	int has = 0;
	int keeps = 0;

	for (int n = 0; n < circle->problem->node_count; n++) {
		int more = gains(circle, j, n);

		gpus[n] = job->now[n] + (more < 0 ? more : 0);
		has += job->now[n];
		nodes += gpus[n] > 0;
		if (gpus[n] > 0 && gpus[n] < least)
			least = gpus[n];
		if (!gpus[n] && plx_job_sits(job, n))
			return 0;
	}
	for (int n = 0; n < circle->problem->node_count; n++) {
		if (circle->problem->uniform && !circle->problem->idle &&
		    gpus[n] > 0)
			gpus[n] = least;
		keeps += gpus[n];
	}
	return job->batch_host >= 0 && may_have(job, keeps, nodes) ? has - keeps
								   : 0;
}

/* A node on which alone the job could go on with its least GPUs; -1: none. */
static int refuge(const struct circle *circle, int j)
{
	const struct plx_job *job = &circle->problem->jobs[j];
	int best = -1;

	if (job->required || !may_have(job, job->min_gpus, 1))
		return -1;
	for (int n = 0; n < circle->problem->node_count; n++) {
		if (job->now[n] < job->min_gpus ||
		    (job->batch_host >= 0 && !job->roams &&
		     n != job->batch_host))
			continue;
		if (best < 0 || job->now[n] < job->now[best])
			best = n;
	}
	return best;
}

/* Where its two shapes share nothing: its least GPUs, on one of its nodes. */
static int retreat(const struct circle *circle, int j, int *gpus)
{
	const struct plx_job *job = &circle->problem->jobs[j];
	int nodes = circle->problem->node_count;
	int n = refuge(circle, j);

	if (job->batch_host < 0 || n < 0)
		return 0;
	for (int i = 0; i < nodes; i++)
		gpus[i] = i == n ? job->min_gpus : 0;
	return plx_shape_of(job->now, nodes).gpus - job->min_gpus;
}

/* It can give up no part of what it has: all, until it has its new shape. */
static int park(const struct circle *circle, int j, int *gpus)
{
	const struct plx_job *job = &circle->problem->jobs[j];
	int nodes = circle->problem->node_count;

	/* One of whole nodes would keep that of its script. */
	if (job->batch_host < 0 || !job->may_park || job->whole)
		return 0;
	for (int n = 0; n < nodes; n++)
		gpus[n] = 0;
	return plx_shape_of(job->now, nodes).gpus;
}

/* A job that waits for some of what j gives up by this; NULL: none. */
static const struct plx_job *who_waits(const struct circle *circle, int j,
				       const int *gpus)
{
	for (int k = 0; k < circle->problem->job_count; k++) {
		if (k == j || !circle->waits[k])
			continue;
		for (int n = 0; n < circle->problem->node_count; n++) {
			int more = gains(circle, k, n);

			if (more > 0 && more > circle->idle[n] &&
			    gpus[n] < circle->problem->jobs[j].now[n])
				return &circle->problem->jobs[k];
		}
	}
	return NULL;
}

/* The one that gives least in this way; of equals the first. */
static int choose(const struct circle *circle,
		  int (*give)(const struct circle *circle, int j, int *gpus),
		  int *gpus, int *work, uint32_t *other)
{
	size_t size = (size_t) circle->problem->node_count * sizeof(*gpus);
	int least = INT_MAX;
	int found = -1;

	for (int j = 0; j < circle->problem->job_count; j++) {
		int given = circle->waits[j] ? give(circle, j, work) : 0;
		const struct plx_job *waits = NULL;

		if (given > 0 && given < least)
			waits = who_waits(circle, j, work);
		if (!waits)
			continue;
		memcpy(gpus, work, size);
		*other = waits->id;
		least = given;
		found = j;
	}
	return found;
}

int plx_circular_wait(const struct plx_problem *problem,
		      const struct plx_plan *plan, const bool *acts,
		      const int *idle, int *gpus, uint32_t *other)
{
	size_t nodes = (size_t) problem->node_count;
	struct circle circle = {
		.problem = problem,
		.plan = plan,
		.waits = calloc((size_t) problem->job_count + 1, sizeof(bool)),
		.idle = calloc(nodes + 1, sizeof(int)),
	};
	int *work = calloc(nodes + 1, sizeof(int));
	int found = -1;

	if (!circle.waits || !circle.idle || !work)
		goto done;
	for (int j = 0; j < problem->job_count; j++)
		circle.waits[j] = acts[j];
	memcpy(circle.idle, idle, nodes * sizeof(int));
	carry_out(&circle);
	found = choose(&circle, share, gpus, work, other);
	if (found < 0)
		found = choose(&circle, retreat, gpus, work, other);
	if (found < 0)
		found = choose(&circle, park, gpus, work, other);
done:
	free(work);
	free(circle.idle);
	free(circle.waits);
	return found;
}
