/* SPDX-License-Identifier: MIT */
/*
 * plan.h - who gets which GPUs, and why: problem in, plan out
 *
 * Deterministic: the same problem gives the same plan everywhere, whatever
 * order its jobs are listed in; ties go to the job with the lower id, then to
 * the node with the lower index. With its nodes in another order a problem may
 * get another plan, as good as the search finds any. A plan is never worse
 * than doing nothing when doing nothing is allowed.
 */
#ifndef PLX_CORE_PLAN_H
#define PLX_CORE_PLAN_H

#include "core/base/error.h"
#include "core/problem/problem.h"

#define PLX_PLAN_WHY 160

struct plx_choice {
	int *gpus; /* [node_count] */
	struct plx_shape shape;
	double speedup;		/* goodput relative to the job's fair share */
	bool changed;		/* differs from problem->jobs[j].now */
	char why[PLX_PLAN_WHY]; /* one line for an operator */
};

struct plx_plan {
	int job_count;
	int node_count;
	struct plx_choice *choices; /* in the problem's order of jobs */
	double fitness;		    /* FITNESS_p of the plan */
	double fitness_now;	    /* of leaving all as it is */
	/* No plan's fitness is above this; with problem->idle no even one's.
	 */
	double bound;
};

/*
 * Search. *plan is the caller's to destroy; untouched on failure. The search
 * ends by itself, soon when the bound shows that little is to be gained;
 * problem->stop ends it early. See docs/decisions/0010-allocation-search.md.
 */
int plx_plan_search(const struct plx_problem *problem, struct plx_plan **plan,
		    struct plx_error *err);

void plx_plan_destroy(struct plx_plan *plan); /* accepts NULL */

/* FITNESS_p of any allocation: gpus[j * node_count + n]. For tests too. */
double plx_plan_fitness(const struct plx_problem *problem, const int *gpus);

#endif
