/* SPDX-License-Identifier: MIT */
/*
 * weights.c - who goes first, when the mean of all times is to be short
 *
 * What is left of a job is best known from itself. Berg, Vesilo and
 * Harchol-Balter ("heSRPT", 2020) give the shares that minimise the mean time
 * of jobs of known size whose speedup is a power of their share: they depend
 * on ranks alone. The weights here make the maximum of FITNESS_p have these
 * shares; where a job scales worse than a power, others get what it leaves.
 */
#include <math.h>
#include <stdlib.h>

#include "core/problem/objective.h"

#define SERVICE_S     3600.0 /* GPU-seconds that are little service */
#define SERVICE_POWER 0.3
/* heSRPT: 1 / (1 - k), for a speedup that grows with the k-th power. */
#define RANK_POWER    2.8
#define SPEEDUP_POWER (1 - 1 / RANK_POWER)
#define UNFAIR_MAX    4.0  /* -p beyond which weights no longer matter */
#define SHARE_MIN     1e-3 /* of an equal share */

/* What is left of a job on its fair share of the cluster. */
struct left {
	double seconds;
	uint32_t id;
	int index; /* of the job */
};

/* Numbers of programs and of files: what makes no sense counts as none. */
static double sane(double amount)
{
	return isfinite(amount) && amount > 0 ? amount : 0;
}

static double service_weight(const struct plx_job *job)
{
	return pow(1 + job->service_s / SERVICE_S, -SERVICE_POWER);
}

static double seconds_left(const struct plx_problem *problem,
			   const struct plx_job *job)
{
	struct plx_yardstick fair = plx_fair_share(problem, job);

	if (job->samples_left >= PLX_LEFT_LAST)
		return INFINITY;
	if (job->samples_left > 0 && fair.goodput > 0)
		return job->samples_left / fair.goodput;
	if (job->samples_left > 0)
		return 0; /* not known yet how fast it is: soon it will be */
	return job->service_s / fair.gpus;
}

/* The longest first; in doubt the younger one. */
static int by_length(const void *a, const void *b)
{
	const struct left *x = a;
	const struct left *y = b;

	if (x->seconds != y->seconds)
		return x->seconds > y->seconds ? -1 : 1;
	return (x->id < y->id) - (x->id > y->id);
}

/*
 * Where sum w (share^k)^p is at its extreme, w goes with share^(1 - k p);
 * with p = 0, the sum of logarithms, with the share itself.
 */
static double rank_weight(int rank, int count, double fairness)
{
	double unfair = fmin(fmax(-fairness, 0), UNFAIR_MAX);
	double high = pow((rank + 1.0) / count, RANK_POWER);
	double low = pow((double) rank / count, RANK_POWER);

	return pow(fmax((high - low) * count, SHARE_MIN),
		   1 + SPEEDUP_POWER * unfair);
}

static bool any_tells(const struct plx_problem *problem)
{
	for (int j = 0; j < problem->job_count; j++) {
		if (problem->jobs[j].samples_left > 0)
			return true;
	}
	return false;
}

int plx_problem_set_weights(struct plx_problem *problem, struct plx_error *err)
{
	int count = problem->job_count;
	struct left *left;

	for (int j = 0; j < count; j++) {
		struct plx_job *job = &problem->jobs[j];

		job->service_s = sane(job->service_s);
		job->samples_left = sane(job->samples_left);
	}
	if (!any_tells(problem)) {
		for (int j = 0; j < count; j++)
			problem->jobs[j].weight =
				service_weight(&problem->jobs[j]);
		return 0;
	}
	left = calloc((size_t) count, sizeof(*left));
	if (!left)
		return plx_fail(err, "no memory to rank %d jobs", count);
	for (int j = 0; j < count; j++)
		left[j] = (struct left){
			.seconds = seconds_left(problem, &problem->jobs[j]),
			.id = problem->jobs[j].id,
			.index = j,
		};
	qsort(left, (size_t) count, sizeof(*left), by_length);
	for (int rank = 0; rank < count; rank++)
		problem->jobs[left[rank].index].weight =
			rank_weight(rank, count, problem->fairness);
	free(left);
	return 0;
}
