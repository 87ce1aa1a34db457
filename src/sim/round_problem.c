/* SPDX-License-Identifier: MIT */
/*
 * round_problem.c - a turn of the simulator as a problem of the scheduler
 *
 * The jobs of a turn become a problem (core/problem/problem.h); the plan that
 * comes back is what they get. Rules of the published simulator: age counts
 * from submission, a job never run gets one GPU, and no job more than GPUS_MAX.
 */
#include <math.h>

#include "sim/policy.h"

#define GPUS_MAX 64

int plx_round_most_gpus(const struct plx_simjob *job)
{
	const struct plx_limits *limits = &job->app->limits.batch;
	int most = limits->max_batch / limits->min_per_gpu;

	/* A batch fixed on one GPU is the published exception: ncf. */
	if (job->fixed_batch)
		return 1;
	return most < GPUS_MAX ? most : GPUS_MAX;
}

/* The sizes that jobs may have, of those up to the most that any may. */
static int set_sizes(const struct plx_sizes *sizes, struct plx_job *job,
		     struct plx_error *err)
{
	int most = plx_sizes_down(sizes, job->max_gpus);

	job->min_gpus = plx_sizes_up(sizes, 1);
	job->max_gpus = most > job->min_gpus ? most : job->min_gpus;
	return plx_sizes_list(sizes, 1, GPUS_MAX, &job->sizes, &job->size_count,
			      err);
}

static int describe(const struct plx_round *round,
		    const struct plx_simjob *from, struct plx_job *job,
		    struct plx_error *err)
{
	job->id = (uint32_t) from->index;
	job->max_gpus = from->modelled ? plx_round_most_gpus(from) : 1;
	job->profiled = from->modelled;
	job->profiled_gpus = from->profiled_gpus;
	job->goodput = from->goodput;
	job->may_park = true;
	job->age_s = round->now_s - from->entry->submit_s;
	job->restart_s = plx_setting_restart_s(round->setting, from->app);
	job->restarts = from->restarts;
	job->service_s = from->gpu_s;
	for (int i = 0; i < from->place.count; i++)
		job->now[from->place.parts[i].node] = from->place.parts[i].gpus;
	return set_sizes(&round->setting->sizes, job, err);
}

struct plx_problem *plx_round_problem(struct plx_round *round,
				      struct plx_error *err)
{
	const struct plx_setting *setting = round->setting;
	struct plx_problem *problem =
		plx_problem_create(setting->node_count, round->job_count, err);

	if (!problem)
		return NULL;
	if (!isnan(setting->fairness))
		problem->fairness = setting->fairness;
	problem->interference = true;
	problem->seed = setting->seed;
	for (int n = 0; n < setting->node_count; n++) {
		problem->gpus[n] = setting->node_gpus;
		problem->gpus_total[n] = setting->node_gpus;
	}
	for (int j = 0; j < round->job_count; j++) {
		if (plx_simjob_fit(round->jobs[j], err) < 0 ||
		    describe(round, round->jobs[j], &problem->jobs[j], err) <
			    0) {
			plx_problem_destroy(problem);
			return NULL;
		}
	}
	return problem;
}

static void take(const struct plx_plan *plan, int j,
		 struct plx_sim_placement *next)
{
	const struct plx_choice *choice = &plan->choices[j];

	next->count = 0;
	next->gpus = choice->shape.gpus;
	for (int n = 0; n < plan->node_count; n++) {
		if (choice->gpus[n] > 0)
			next->parts[next->count++] = (struct plx_sim_part){
				.node = n, .gpus = choice->gpus[n]
			};
	}
}

void plx_round_take(struct plx_round *round, const struct plx_plan *plan)
{
	for (int j = 0; j < round->job_count; j++)
		take(plan, j, &round->next[j]);
}
