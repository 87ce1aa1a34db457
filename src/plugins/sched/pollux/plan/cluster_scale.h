/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * cluster_scale.h - how many nodes elastic jobs may have, where nodes can be
 * had
 *
 * pollux_utility: nodes that are more than needed are closed to elastic jobs,
 * so that these leave and Slurm suspends the nodes; where more are needed,
 * Slurm is asked to power some up. Used by the plugin's thread alone.
 */
#ifndef SCHED_POLLUX_CLUSTER_SCALE_H
#define SCHED_POLLUX_CLUSTER_SCALE_H

#include "core/problem/problem.h"
#include "sched/pollux/snapshot/slurm_snapshot.h"
#include "sched/pollux/params.h"

/* Set nodes[].surplus as was decided last. */
void pollux_scale_apply(struct pollux_snapshot *snapshot,
			const struct pollux_params *params);

/* Decide for the next cycle, and wake nodes. No lock is held. */
void pollux_scale_decide(const struct pollux_snapshot *snapshot,
			 const struct plx_problem *problem,
			 const struct pollux_params *params, double now_s);

#endif
