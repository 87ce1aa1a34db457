/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * limit_split.h - a plan that keeps to limits which jobs share
 *
 * By the plugin's thread, which holds no lock.
 */
#ifndef SCHED_POLLUX_LIMIT_SPLIT_H
#define SCHED_POLLUX_LIMIT_SPLIT_H

#include "core/search/plan.h"
#include "sched/pollux/snapshot/slurm_snapshot.h"

/*
 * Let waiting jobs have their part of the limits first: sets `blocked` of
 * those that could not start however small elastic jobs are, takes the others
 * out of the pools, and names the jobs that have to be parked for them.
 */
int pollux_limit_split_claim(struct pollux_snapshot *snapshot,
			     struct plx_error *err);

/*
 * Search; where that gives jobs more than their limits allow them together,
 * split what there is and search again, with max_gpus (and, for a job that is
 * to have none, allowed) of the problem made so. *plan as plx_plan_search().
 */
int pollux_limit_split_search(const struct pollux_snapshot *snapshot,
			      struct plx_problem *problem,
			      struct plx_plan **plan, struct plx_error *err);

/*
 * What limits have left now, before any job has given back what it is to
 * lose: [pool_count], the caller's to free; NULL without memory, and then
 * Slurm alone says no. Does it allow job j so many GPUs? Then it is spent.
 */
double *pollux_limit_split_left(const struct pollux_snapshot *snapshot,
				const struct plx_problem *problem);
bool pollux_limit_split_allow(const struct pollux_snapshot *snapshot, int j,
			      int gpus, const double *left);
void pollux_limit_split_spend(const struct pollux_snapshot *snapshot, int j,
			      int gpus, double *left);

#endif
