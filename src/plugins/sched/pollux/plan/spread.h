/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * spread.h - the shapes in which an elastic job that waits may start
 *
 * Its request has its least GPUs on as few nodes as can be. Where these are
 * not to be had so, it may start with as few on each of more nodes, as its
 * later shapes may be. No lock, no Slurm.
 */
#ifndef SCHED_POLLUX_PLAN_SPREAD_H
#define SCHED_POLLUX_PLAN_SPREAD_H

#include "core/problem/problem.h"
#include "sched/pollux/snapshot/slurm_snapshot.h"

#define POLLUX_SPREADS_MAX    8	 /* other shapes of a job */
#define POLLUX_SPREADS_IN_ALL 64 /* in a cycle, of the first jobs */

/*
 * The other shapes of the waiting job, those on fewer nodes first: shapes[max]
 * are copies of it, with nodes, GPUs, CPUs and memory of the shape; the rest
 * is borrowed. Their number.
 */
int pollux_spreads(const struct pollux_snapshot *snapshot,
		   const struct pollux_waiting *waiting,
		   struct pollux_waiting *shapes, int max);

/*
 * The nodes that the shape may be on, of those allowed to the job: on a node
 * there is at most one job of several nodes, where the problem says so. Only
 * when idle: such a job does not make way. open[node_count].
 */
void pollux_spread_open(const struct pollux_snapshot *snapshot,
			const struct plx_problem *problem,
			const struct pollux_waiting *shape, bool only_idle,
			bool *open);

#endif
