/* SPDX-License-Identifier: MIT */
/* untie.c - a plan in which jobs wait for each other */

#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "core/reserve/untie.h"

struct knot {
	const struct plx_problem *problem;
	const struct plx_plan *plan;
	bool *waits; /* [job_count] its choice cannot be carried out */
	int *spare;  /* [node_count] once all others' are */
};

static int gains(const struct knot *knot, int j, int n)
{
	return knot->plan->choices[j].gpus[n] - knot->problem->jobs[j].now[n];
}

static bool fits(const struct knot *knot, int j)
{
	for (int n = 0; n < knot->problem->node_count; n++) {
		int more = gains(knot, j, n);

		if (more > 0 && more > knot->spare[n])
			return false;
	}
	return true;
}

/* Whatever can be carried out is, one after the other. */
static void carry_out(struct knot *knot)
{
	bool moved = true;

	while (moved) {
		moved = false;
		for (int j = 0; j < knot->problem->job_count; j++) {
			if (!knot->waits[j] || !fits(knot, j))
				continue;
			for (int n = 0; n < knot->problem->node_count; n++)
				knot->spare[n] -= gains(knot, j, n);
			knot->waits[j] = false;
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
static int share(const struct knot *knot, int j, int *gpus)
{
	const struct plx_job *job = &knot->problem->jobs[j];
	int least = INT_MAX;
	int nodes = 0;
	int has = 0;
	int keeps = 0;

	for (int n = 0; n < knot->problem->node_count; n++) {
		int more = gains(knot, j, n);

		gpus[n] = job->now[n] + (more < 0 ? more : 0);
		has += job->now[n];
		nodes += gpus[n] > 0;
		if (gpus[n] > 0 && gpus[n] < least)
			least = gpus[n];
		if (!gpus[n] && plx_job_sits(job, n))
			return 0;
	}
	for (int n = 0; n < knot->problem->node_count; n++) {
		if (knot->problem->uniform && !knot->problem->spare &&
		    gpus[n] > 0)
			gpus[n] = least;
		keeps += gpus[n];
	}
	return job->home >= 0 && may_have(job, keeps, nodes) ? has - keeps : 0;
}

/* A node on which alone the job could go on with its least GPUs; -1: none. */
static int refuge(const struct knot *knot, int j)
{
	const struct plx_job *job = &knot->problem->jobs[j];
	int best = -1;

	if (job->required || !may_have(job, job->min_gpus, 1))
		return -1;
	for (int n = 0; n < knot->problem->node_count; n++) {
		if (job->now[n] < job->min_gpus ||
		    (job->home >= 0 && !job->roams && n != job->home))
			continue;
		if (best < 0 || job->now[n] < job->now[best])
			best = n;
	}
	return best;
}

/* Where its two shapes share nothing: its least GPUs, on one of its nodes. */
static int retreat(const struct knot *knot, int j, int *gpus)
{
	const struct plx_job *job = &knot->problem->jobs[j];
	int n = refuge(knot, j);
	int has = 0;

	if (job->home < 0 || n < 0)
		return 0;
	for (int i = 0; i < knot->problem->node_count; i++) {
		has += job->now[i];
		gpus[i] = i == n ? job->min_gpus : 0;
	}
	return has - job->min_gpus;
}

/* A job that waits for some of what j gives up by this; NULL: none. */
static const struct plx_job *who_waits(const struct knot *knot, int j,
				       const int *gpus)
{
	for (int k = 0; k < knot->problem->job_count; k++) {
		if (k == j || !knot->waits[k])
			continue;
		for (int n = 0; n < knot->problem->node_count; n++) {
			int more = gains(knot, k, n);

			if (more > 0 && more > knot->spare[n] &&
			    gpus[n] < knot->problem->jobs[j].now[n])
				return &knot->problem->jobs[k];
		}
	}
	return NULL;
}

/* The one that gives least in this way; of equals the first. */
static int choose(const struct knot *knot,
		  int (*give)(const struct knot *knot, int j, int *gpus),
		  int *gpus, int *work, uint32_t *other)
{
	size_t size = (size_t) knot->problem->node_count * sizeof(*gpus);
	int least = INT_MAX;
	int found = -1;

	for (int j = 0; j < knot->problem->job_count; j++) {
		int given = knot->waits[j] ? give(knot, j, work) : 0;
		const struct plx_job *waits = NULL;

		if (given > 0 && given < least)
			waits = who_waits(knot, j, work);
		if (!waits)
			continue;
		memcpy(gpus, work, size);
		*other = waits->id;
		least = given;
		found = j;
	}
	return found;
}

int plx_untie(const struct plx_problem *problem, const struct plx_plan *plan,
	      const bool *acts, const int *spare, int *gpus, uint32_t *other)
{
	size_t nodes = (size_t) problem->node_count;
	struct knot knot = {
		.problem = problem,
		.plan = plan,
		.waits = calloc((size_t) problem->job_count + 1, sizeof(bool)),
		.spare = calloc(nodes + 1, sizeof(int)),
	};
	int *work = calloc(nodes + 1, sizeof(int));
	int found = -1;

	if (!knot.waits || !knot.spare || !work)
		goto done;
	for (int j = 0; j < problem->job_count; j++)
		knot.waits[j] = acts[j];
	memcpy(knot.spare, spare, nodes * sizeof(int));
	carry_out(&knot);
	found = choose(&knot, share, gpus, work, other);
	if (found < 0)
		found = choose(&knot, retreat, gpus, work, other);
done:
	free(work);
	free(knot.spare);
	free(knot.waits);
	return found;
}
