/* SPDX-License-Identifier: MIT */
/*
 * policy_pollux.c - the scheduler's own search, as slurmctld runs it
 *
 * To what a turn says of its jobs comes what jobs of their kind have learnt,
 * and how much each weighs. Each part can be left out, to see what it brings.
 */
#include <math.h>
#include <stdlib.h>

#include "core/jobs/prepare.h"
#include "core/search/plan.h"
#include "sim/policy.h"

/* What a job has still to do, samples at the base batch. */
static double samples_left(const struct plx_simjob *job)
{
	double end = plx_app_boundary(job->app, job->app->limits.epochs - 1);

	return (end - job->progress) * job->app->limits.batch.base_batch;
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

static int prepare(const struct plx_round *round, struct plx_problem *problem,
		   struct plx_error *err)
{
	unsigned without = round->setting->without;
	struct plx_prepare_job *jobs =
		calloc((size_t) problem->job_count + 1, sizeof(*jobs));
	const struct plx_prepare how = {
		.profiles = without & PLX_PART_PROFILES ? NULL : round->run,
		.jobs = jobs,
		.weights = without & PLX_PART_WEIGHTS ? PLX_WEIGHTS_ALIKE
						      : PLX_WEIGHTS_LEFT,
	};
	int rc = -1;

	if (!jobs)
		return plx_fail(err, "no memory");
	for (int j = 0; j < problem->job_count; j++) {
		/* A batch that is fixed says nothing of others. */
		jobs[j].teaches = !round->jobs[j]->fixed_batch;
		jobs[j].learns = !round->jobs[j]->fixed_batch;
		jobs[j].most_gpus = plx_round_most_gpus(round->jobs[j]);
	}
	rc = plx_prepare(problem, &how, err);
	free(jobs);
	return rc;
}

/* The turn as our scheduler sees it, be it real or imagined. */
static int refine(const struct plx_round *round, struct plx_problem *problem,
		  struct plx_error *err)
{
	const struct plx_setting *setting = round->setting;
	double hysteresis = problem->hysteresis;

	plx_prepare_defaults(problem);
	problem->seed = setting->seed;
	problem->uniform = setting->uniform;
	problem->idle = setting->idle;
	if (!isnan(setting->fairness))
		problem->fairness = setting->fairness;
	if (setting->without & PLX_PART_HYSTERESIS)
		problem->hysteresis = hysteresis;
	for (int j = 0; j < problem->job_count; j++) {
		struct plx_job *job = &problem->jobs[j];

		if (setting->without & PLX_PART_CHARGE)
			job->restart_s = 0;
		if (setting->remaining)
			job->samples_left = samples_left(round->jobs[j]);
	}
	if (give_batch_hosts(round, problem, err) < 0)
		return -1;
	return prepare(round, problem, err);
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
