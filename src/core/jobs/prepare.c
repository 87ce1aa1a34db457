/* SPDX-License-Identifier: MIT */
/* prepare.c - the last steps from what jobs are to the problem that is posed */

#include "core/jobs/moldable.h"
#include "core/jobs/prepare.h"
#include "core/problem/objective.h"

void plx_prepare_defaults(struct plx_problem *problem)
{
	problem->fairness = PLX_FAIRNESS;
	problem->hysteresis = PLX_HYSTERESIS;
	problem->switch_cost = PLX_SWITCH_COST;
	problem->interference = true;
	problem->uniform = true;
	problem->seed = 1;
}

/* It counts as measured now. */
static void raise_limit(int most_gpus, struct plx_job *job)
{
	int most = plx_job_size_down(job, most_gpus);

	if (most_gpus)
		job->max_gpus = most > job->min_gpus ? most : job->min_gpus;
}

/* All teach before any learns, so their order does not matter. */
static void share_profiles(const struct plx_prepare *how,
			   struct plx_problem *problem)
{
	for (int j = 0; j < problem->job_count; j++) {
		if (how->jobs[j].teaches)
			plx_app_profile_learn(how->profiles, &problem->jobs[j]);
	}
	for (int j = 0; j < problem->job_count; j++) {
		if (how->jobs[j].learns &&
		    plx_app_profile_apply(how->profiles, &problem->jobs[j]))
			raise_limit(how->jobs[j].most_gpus, &problem->jobs[j]);
	}
}

int plx_prepare(struct plx_problem *problem, const struct plx_prepare *how,
		struct plx_error *err)
{
	if (how->profiles)
		share_profiles(how, problem);
	for (int j = 0; j < problem->job_count; j++) {
		struct plx_job *job = &problem->jobs[j];

		if (how->jobs[j].assumes && !job->profiled)
			plx_moldable_assume(job);
		if (how->weights == PLX_WEIGHTS_SERVICE)
			job->samples_left = 0;
	}
	plx_problem_price(problem);
	if (how->weights == PLX_WEIGHTS_ALIKE)
		return 0;
	return plx_problem_set_weights(problem, err);
}
