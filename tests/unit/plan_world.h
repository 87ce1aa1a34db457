/* SPDX-License-Identifier: MIT */
/*
 * plan_world.h - a quiet cluster of equal jobs, and what a plan makes of it
 *
 * For tests. The caller changes of the cluster what its case is about; done()
 * checks the plan by plan_rules.h and frees both.
 */
#ifndef PLX_PLAN_WORLD_H
#define PLX_PLAN_WORLD_H

#include "plan_rules.h"

/* Scales well: a pass of 1 ms a sample, gradients all noise. */
static const struct plx_goodput noisy = {
	.model = { .alpha_c = 1e-3,
		   .beta_c = 1e-3,
		   .alpha_n = 2e-2,
		   .beta_n = 1e-5,
		   .alpha_r = 1e-3,
		   .beta_r = 1e-5,
		   .gamma = 2 },
	.noise = { .sqr = 1e-3, .var = 1e2 },
	.limits = { .base_batch = 64,
		    .max_batch = 4096,
		    .min_per_gpu = 1,
		    .max_per_gpu = 256,
		    .accumulate = true },
};

/* Nothing runs; each job may have all GPUs. */
static inline struct plx_problem *cluster(int nodes, int gpus, int jobs)
{
	struct plx_problem *problem = plx_problem_create(nodes, jobs, NULL);

	assert_non_null(problem);
	problem->uniform = true;
	problem->interference = true;
	for (int n = 0; n < nodes; n++)
		problem->gpus[n] = problem->gpus_total[n] = gpus;
	for (int j = 0; j < jobs; j++) {
		problem->jobs[j] = (struct plx_job){
			.id = (uint32_t) (j + 1),
			.min_gpus = 1,
			.max_gpus = nodes * gpus,
			.profiled = true,
			.goodput = noisy,
			.profiled_gpus = nodes * gpus,
			.may_park = true,
			.batch_host = -1,
			.age_s = 1000,
			.restart_s = 1,
			.now = problem->jobs[j].now,
		};
	}
	return problem;
}

/* What is said begins with `why`. */
static inline void assert_choice(const struct plx_plan *plan, int j, int gpus,
				 const char *why)
{
	assert_int_equal(gpus, plan->choices[j].shape.gpus);
	if (strncmp(why, plan->choices[j].why, strlen(why)) != 0)
		fail_msg("job %d: \"%s\", want \"%s\"", j, plan->choices[j].why,
			 why);
}

static inline void done(struct plx_problem *problem, struct plx_plan *plan)
{
	check_plan(problem, plan);
	plx_plan_destroy(plan);
	plx_problem_destroy(problem);
}

#endif
