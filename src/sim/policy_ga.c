/* SPDX-License-Identifier: MIT */
/*
 * policy_ga.c - the published scheduler: its objective, its search
 *
 * Kept as a measure for our own. Everything is as in the artifact of Qiao
 * et al., "Pollux", OSDI '21: the job with the least attained service has
 * precedence, then the one submitted first.
 */
#include <stdlib.h>

#include "core/policy/ga.h"
#include "core/policy/osdi21.h"
#include "sim/policy.h"

struct run {
	struct plx_ga *ga;
};

static int by_service(const void *a, const void *b)
{
	const struct plx_simjob *x = *(struct plx_simjob *const *) a;
	const struct plx_simjob *y = *(struct plx_simjob *const *) b;

	if (x->gpu_s != y->gpu_s)
		return x->gpu_s < y->gpu_s ? -1 : 1;
	return x->index - y->index;
}

static int decide(struct plx_round *round, void *states, struct plx_error *err)
{
	struct run *run = round->run;
	struct plx_ga_options options = plx_ga_published(round->setting->seed);
	struct plx_problem *problem = NULL;
	struct plx_plan *plan = NULL;
	int rc = -1;

	(void) states;
	if (!run->ga)
		run->ga = plx_ga_create(&options, err);
	if (!run->ga)
		return -1;
	qsort(round->jobs, (size_t) round->job_count, sizeof(*round->jobs),
	      by_service);
	problem = plx_round_problem(round, err);
	if (!problem || plx_osdi21_tables(problem, NULL, err) < 0 ||
	    plx_ga_plan(run->ga, problem, &plan, err) < 0)
		goto done;
	plx_round_take(round, plan);
	rc = 0;
done:
	plx_plan_destroy(plan);
	plx_problem_destroy(problem);
	return rc;
}

static void end(void *memory)
{
	struct run *run = memory;

	plx_ga_destroy(run->ga);
}

const struct plx_policy plx_policy_ga = {
	.name = "pollux-ga",
	.what = "goodput: the published genetic algorithm; jobs adapt",
	.adaptive = true,
	.published = true,
	.run_size = sizeof(struct run),
	.decide = decide,
	.end = end,
	.plan = plx_ga_search,
};
