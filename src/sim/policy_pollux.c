/* SPDX-License-Identifier: MIT */
/* policy_pollux.c - the scheduler's own search, as slurmctld runs it */

#include <stdlib.h>

#include "core/plan.h"
#include "sim/policy.h"

static int decide(struct plx_turn *turn, void *states, struct plx_error *err)
{
	struct plx_problem *problem = plx_turn_problem(turn, err);
	struct plx_plan *plan = NULL;
	int rc = -1;

	(void) states;
	if (!problem || plx_plan_search(problem, &plan, err) < 0)
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
	.decide = decide,
	.plan = plx_plan_search,
};
