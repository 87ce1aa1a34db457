/* SPDX-License-Identifier: MIT */
/*
 * policy_pollux.c - the scheduler's own search, as slurmctld runs it
 *
 * To what a turn says of its jobs comes what jobs of their kind have learnt,
 * and how much each weighs. Each part can be left out, to see what it brings.
 */
#include <math.h>
#include <stdlib.h>

#include "core/jobs/app_profile.h"
#include "core/search/plan.h"
#include "core/problem/objective.h"
#include "sim/policy.h"

/* What a job has still to do, samples at the base batch. */
static double samples_left(const struct plx_simjob *job)
{
	double end = plx_app_boundary(job->app, job->app->limits.epochs - 1);

	return (end - job->progress) * job->app->limits.batch.base_batch;
}

/* It counts as measured now: to what its batch allows, in one of its sizes. */
static void raise_limit(const struct plx_simjob *from, struct plx_job *job)
{
	int most = plx_job_size_down(job, plx_round_most_gpus(from));

	job->max_gpus = most > job->min_gpus ? most : job->min_gpus;
}

static void ask_profiles(const struct plx_round *round,
			 struct plx_problem *problem)
{
	struct plx_app_profiles *profiles = round->run;

	for (int j = 0; j < problem->job_count; j++) {
		/* A batch that is fixed says nothing of others. */
		if (!round->jobs[j]->fixed_batch)
			plx_app_profile_learn(profiles, &problem->jobs[j]);
	}
	for (int j = 0; j < problem->job_count; j++) {
		struct plx_job *job = &problem->jobs[j];

		if (!round->jobs[j]->fixed_batch &&
		    plx_app_profile_apply(profiles, job))
			raise_limit(round->jobs[j], job);
	}
}

/*
 * Where Slurm starts jobs that come, one GPU each, if not told otherwise: on
 * the fullest node that has a GPU left; without any, where the fewest run.
 */
static void pack(const struct plx_round *round,
		 const struct plx_problem *problem, int *busy)
{
	for (int j = 0; j < problem->job_count; j++) {
		int best = 0;

		if (round->jobs[j]->batch_host >= 0)
			continue;
		for (int n = 1; n < problem->node_count; n++) {
			bool full = busy[best] >= problem->gpus[best];
			bool fits = busy[n] < problem->gpus[n];

			if (full ? fits || busy[n] < busy[best]
				 : fits && busy[n] > busy[best])
				best = n;
		}
		round->jobs[j]->batch_host = best;
		busy[best]++;
	}
}

static int give_batch_hosts(const struct plx_round *round,
			    struct plx_problem *problem, struct plx_error *err)
{
	int *busy = NULL;

	if (!round->setting->batch_host)
		return 0;
	busy = calloc((size_t) problem->node_count + 1, sizeof(*busy));
	if (!busy)
		return plx_fail(err, "no memory");
	for (int j = 0; j < problem->job_count; j++) {
		for (int n = 0; n < problem->node_count; n++)
			busy[n] += problem->jobs[j].now[n];
	}
	if (round->setting->packed)
		pack(round, problem, busy);
	for (int j = 0; j < problem->job_count; j++) {
		problem->jobs[j].batch_host = round->jobs[j]->batch_host;
		problem->jobs[j].roams = round->setting->roams;
	}
	free(busy);
	return 0;
}

/* The turn as our scheduler sees it, be it real or imagined. */
static int refine(const struct plx_round *round, struct plx_problem *problem,
		  struct plx_error *err)
{
	unsigned without = round->setting->without;

	problem->uniform = round->setting->uniform;
	problem->idle = round->setting->idle;
	if (isnan(round->setting->fairness))
		problem->fairness = PLX_FAIRNESS;
	if (!(without & PLX_PART_HYSTERESIS))
		problem->hysteresis = PLX_HYSTERESIS;
	if (!(without & PLX_PART_PROFILES))
		ask_profiles(round, problem);
	for (int j = 0; j < problem->job_count; j++) {
		struct plx_job *job = &problem->jobs[j];

		if (without & PLX_PART_CHARGE)
			job->restart_s = 0;
		if (round->setting->remaining)
			job->samples_left = samples_left(round->jobs[j]);
	}
	if (give_batch_hosts(round, problem, err) < 0)
		return -1;
	if (without & PLX_PART_WEIGHTS)
		return 0;
	return plx_problem_set_weights(problem, err);
}

static int decide(struct plx_round *round, void *states, struct plx_error *err)
{
	struct plx_problem *problem = plx_round_problem(round, err);
	struct plx_plan *plan = NULL;
	int rc = -1;

	(void) states;
	if (!problem || refine(round, problem, err) < 0 ||
	    plx_plan_search(problem, &plan, err) < 0)
		goto done;
	plx_round_take(round, plan);
	rc = 0;
done:
	plx_plan_destroy(plan);
	plx_problem_destroy(problem);
	return rc;
}

const struct plx_policy plx_policy_pollux = {
	.name = "pollux",
	.what = "goodput: the search that slurmctld runs; jobs adapt",
	.adaptive = true,
	.run_size = sizeof(struct plx_app_profiles),
	.decide = decide,
	.refine = refine,
	.plan = plx_plan_search,
};
