/* SPDX-License-Identifier: MIT */
/* alloc.c - a snapshot decided once more */

#include <time.h>

#include "core/policy/osdi21.h"
#include "sim/alloc.h"

#define CELLS_MAX 3e7 /* of all jobs' tables of speedups */

static double now_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return 1e3 * (double) now.tv_sec + 1e-6 * (double) now.tv_nsec;
}

/* A table for each job must fit into memory. */
static int check_tables(const struct plx_problem *problem, const char *path,
			struct plx_error *err)
{
	double cells = 0;
	int total = plx_shape_of(problem->gpus_total, problem->node_count).gpus;

	for (int j = 0; j < problem->job_count; j++) {
		int most = problem->jobs[j].max_gpus;
		int gpus = most < total ? most : total;
		int nodes = problem->node_count;

		cells += (double) gpus * (gpus < nodes ? gpus : nodes);
	}
	if (cells > CELLS_MAX)
		return plx_fail(err,
				"%.100s: too large for --fitness=osdi21: %g "
				"shapes of all jobs, want at most %g",
				path, cells, CELLS_MAX);
	return 0;
}

int plx_alloc_load(const struct plx_alloc_options *options,
		   struct plx_answer *answer, struct plx_error *err)
{
	struct plx_problem *problem;

	if (plx_snapshot_load(options->path, options->case_name,
			      &answer->snapshot, err) < 0)
		return -1;
	problem = answer->snapshot->problem;
	if (options->given_fairness)
		problem->fairness = options->fairness;
	if (options->given_seed)
		problem->seed = options->seed;
	problem->uniform = problem->uniform || options->uniform;
	problem->idle = problem->idle && !options->uniform;
	if (!options->osdi21)
		return 0;
	problem->hysteresis = 0; /* unknown to the published objective */
	return check_tables(problem, options->path, err);
}

static bool too_late(void *context)
{
	const double *end_ms = context;

	return now_ms() >= *end_ms;
}

int plx_alloc_decide(const struct plx_alloc_options *options,
		     struct plx_answer *answer, struct plx_error *err)
{
	struct plx_snapshot *snapshot = answer->snapshot;
	struct plx_problem *problem = snapshot->problem;
	double start_ms;
	double end_ms;
	int rc;

	if (options->osdi21 &&
	    plx_osdi21_tables(problem, snapshot->shares, err) < 0)
		return -1;
	start_ms = now_ms();
	end_ms = start_ms + options->budget_ms;
	if (options->budget_ms > 0) {
		problem->stop = too_late;
		problem->stop_context = &end_ms;
	}
	rc = plx_alloc_plan(snapshot, options->policy, &answer->plan, err);
	answer->elapsed_ms = now_ms() - start_ms;
	problem->stop = NULL;
	problem->stop_context = NULL;
	return rc;
}

void plx_answer_release(struct plx_answer *answer)
{
	plx_plan_destroy(answer->plan);
	plx_snapshot_destroy(answer->snapshot);
	answer->plan = NULL;
	answer->snapshot = NULL;
}
