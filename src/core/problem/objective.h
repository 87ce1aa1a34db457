/* SPDX-License-Identifier: MIT */
/*
 * objective.h - the value of an allocation to a job, and to all together
 *
 * The objective of every policy that maximises FITNESS_p: the power mean,
 * with each job's weight, of the jobs' speedups after what a re-allocation
 * costs them. Pure; any thread may call it at any time.
 */
#ifndef PLX_CORE_OBJECTIVE_H
#define PLX_CORE_OBJECTIVE_H

#include "core/problem/problem.h"

/* Added to every speedup, as published: parked is bad, but not infinitely. */
#define PLX_SPEEDUP_FLOOR 1e-3
/* A power so small that it is taken as 0: the geometric mean. */
#define PLX_FAIRNESS_TINY 1e-6

/*
 * For problem->fairness of a scheduler that is not told otherwise: the
 * geometric mean, where all that counts is by how much each job gains.
 */
#define PLX_FAIRNESS 0.0

/*
 * For problem->hysteresis of a scheduler: what is gained must be worth the
 * unrest, and be more than models are off.
 */
#define PLX_HYSTERESIS 0.08

/*
 * For plx_job's samples_left: goes after all others in
 * plx_problem_set_weights().
 */
#define PLX_LEFT_LAST 1e18

/* What a job's speedup is relative to. */
struct plx_yardstick {
	int gpus;	/* its fair share */
	double goodput; /* there; 0: speedup is the count of GPUs */
};

struct plx_yardstick plx_fair_share(const struct plx_problem *problem,
				    const struct plx_job *job);

/* Relative to the fair share; 0 for no GPUs, and where no batch is possible. */
double plx_speedup(const struct plx_job *job, const struct plx_yardstick *fair,
		   struct plx_shape shape);

/*
 * The same over one GPU of its own; the count of GPUs where its goodput is not
 * known.
 */
double plx_speedup_alone(const struct plx_job *job, struct plx_shape shape);

/* Share of its speedup that a job keeps when it is re-allocated, 0 to 1. */
double plx_restart_factor(const struct plx_job *job);

/*
 * The job's value in the mean: its speedup there, half of that where it would
 * miss its time limit (least_goodput), less what the change to it
 * costs. changed: the nodes or counts are not those it has now.
 */
double plx_job_value(const struct plx_job *job,
		     const struct plx_yardstick *fair, struct plx_shape shape,
		     bool changed);

/* The same of a shape whose plx_speedup() is known. */
double plx_speedup_value(const struct plx_job *job,
			 const struct plx_yardstick *fair, double speedup,
			 bool changed);

/*
 * Set the jobs' weights so that the mean of their times gets shorter. Jobs
 * that have had little service weigh more, as most of them end soon. When
 * some tell what they have left, the less that is the more a job weighs, by
 * rank as in heSRPT; one that does not tell is taken to have as much left as
 * it has had. Amounts that are negative or not finite become 0. 0, or -1 with
 * err set and no weight changed.
 */
int plx_problem_set_weights(struct plx_problem *problem, struct plx_error *err);

/* A job's weight in the mean. */
double plx_weight(const struct plx_job *job);

/*
 * A term, before its weight, of the sum that fitness with power p grows with.
 */
double plx_utility(double p, double value);

#endif
