/* SPDX-License-Identifier: MIT */
/*
 * plan_seen.h - what plans of random problems had to keep to, counted
 *
 * So that a test of many plans can say that each rule was met in some of them.
 */
#ifndef PLX_PLAN_SEEN_H
#define PLX_PLAN_SEEN_H

#include "plan_rules.h"

/* Jobs, over all plans looked at. */
struct seen {
	/* That change to some GPUs, and have ... */
	int limited;	/* a limit of nodes, above or below */
	int multi;	/* the same, on several nodes */
	int bound;	/* several nodes, and a limit of switches */
	int spanning;	/* several switches */
	int needed;	/* nodes that they must have */
	int whole;	/* all of a node */
	int sized;	/* one of some numbers */
	int tabled;	/* what a table says */
	int supplied;	/* other resources */
	int lone_multi; /* several nodes, where only one such job may be */
	int uneven;	/* not the same on each */
	/* Others. */
	int parked; /* lose all */
	int woken;  /* had nothing */
	int fixed;  /* keep what they have, as they must */
	int left;   /* keep what they may not have: nothing else is possible */
};

static inline void see_change(const struct plx_problem *problem,
			      const struct plx_job *job,
			      const struct plx_choice *choice,
			      struct seen *seen)
{
	bool limited = job->min_nodes > 1 || job->max_nodes;
	bool multi = choice->shape.nodes > 1;
	bool needed = false;
	bool uneven = false;

	for (int n = 0; n < problem->node_count; n++) {
		needed = needed || (job->required && job->required[n]);
		uneven = uneven || (choice->gpus[n] > 0 &&
				    choice->gpus[n] * choice->shape.nodes !=
					    choice->shape.gpus);
	}
	seen->limited += limited;
	seen->multi += limited && multi;
	seen->bound += job->max_switches && multi;
	seen->spanning += switches_of(problem, choice->gpus) > 1;
	seen->needed += needed;
	seen->whole += job->whole;
	seen->sized += job->size_count > 0;
	seen->tabled += job->table != NULL;
	seen->supplied += job->demand && job->demand[0] > 0;
	seen->lone_multi += problem->interference && multi;
	seen->uneven += uneven;
	seen->woken += shape_of(problem, job->now).gpus == 0;
}

static inline void see_plan(const struct plx_problem *problem,
			    const struct plx_plan *plan, struct seen *seen)
{
	for (int j = 0; j < problem->job_count; j++) {
		const struct plx_job *job = &problem->jobs[j];
		const struct plx_choice *choice = &plan->choices[j];

		if (choice->changed && choice->shape.gpus > 0)
			see_change(problem, job, choice, seen);
		seen->parked += choice->changed && choice->shape.gpus == 0;
		seen->fixed += job->fixed && choice->shape.gpus > 0;
		seen->left += !job->fixed && !choice->changed &&
			      !plx_job_may_have(problem, job, choice->gpus);
	}
}

#endif
