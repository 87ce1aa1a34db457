/* SPDX-License-Identifier: MIT */
/*
 * policy_pollux.c - the scheduler's own search, as slurmctld runs it
 *
 * To what a turn says of its jobs comes what jobs of their kind have learnt,
 * and how much each weighs. Each part can be left out, to see what it brings.
 */
#include <math.h>
#include <stdlib.h>

#include "core/kin.h"
#include "core/plan.h"
#include "core/worth.h"
#include "sim/policy.h"

/* What a job has still to do, samples at the base batch. */
static double samples_left(const struct plx_simjob *job)
{
	double end = plx_app_boundary(job->app, job->app->limits.epochs - 1);

	return (end - job->progress) * job->app->limits.batch.base_batch;
}

static void ask_kin(const struct plx_turn *turn, struct plx_problem *problem)
{
	struct plx_kinship *kinship = turn->run;

	for (int j = 0; j < problem->job_count; j++) {
		/* A batch that is fixed says nothing of others. */
		if (!turn->jobs[j]->fixed_batch)
			plx_kin_learn(kinship, &problem->jobs[j]);
	}
	for (int j = 0; j < problem->job_count; j++) {
		struct plx_job *job = &problem->jobs[j];

		if (!turn->jobs[j]->fixed_batch && plx_kin_lend(kinship, job))
			job->max_gpus = plx_turn_most_gpus(turn->jobs[j]);
	}
}

/* The turn as our scheduler sees it, be it real or imagined. */
static int refine(const struct plx_turn *turn, struct plx_problem *problem,
		  struct plx_error *err)
{
	unsigned without = turn->setting->without;

	problem->uniform = turn->setting->uniform;
	problem->spare = turn->setting->spare;
	if (isnan(turn->setting->fairness))
		problem->fairness = PLX_FAIRNESS;
	if (!(without & PLX_PART_HYSTERESIS))
		problem->hysteresis = PLX_HYSTERESIS;
	if (!(without & PLX_PART_KIN))
		ask_kin(turn, problem);
	for (int j = 0; j < problem->job_count; j++) {
		struct plx_job *job = &problem->jobs[j];

		if (without & PLX_PART_CHARGE)
			job->restart_s = 0;
		if (turn->setting->home)
			job->home = turn->jobs[j]->home;
		if (turn->setting->remaining)
			job->samples_left = samples_left(turn->jobs[j]);
	}
	if (without & PLX_PART_WEIGHTS)
		return 0;
	return plx_problem_weigh(problem, err);
}

static int decide(struct plx_turn *turn, void *states, struct plx_error *err)
{
	struct plx_problem *problem = plx_turn_problem(turn, err);
	struct plx_plan *plan = NULL;
	int rc = -1;

	(void) states;
	if (!problem || refine(turn, problem, err) < 0 ||
	    plx_plan_search(problem, &plan, err) < 0)
		goto done;
	plx_turn_take(turn, plan);
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
	.run_size = sizeof(struct plx_kinship),
	.decide = decide,
	.refine = refine,
	.plan = plx_plan_search,
};
