/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * consumables.h - CPUs, memory and types of GPUs, as far as they are short
 *
 * No lock, no Slurm.
 */
#ifndef SCHED_POLLUX_CONSUMABLES_H
#define SCHED_POLLUX_CONSUMABLES_H

#include "core/problem/problem.h"
#include "sched/pollux/snapshot/slurm_snapshot.h"

/*
 * What each kind of a problem's consumables is; for pollux_consumables_wanted()
 * alone.
 */
struct pollux_consumables {
	int kinds[PLX_KINDS_MAX];
	int held; /* jobs that keep what they have: what they need is of a kind
		     for which there is no place */
};

/*
 * Give a problem about the snapshot's jobs, which has its nodes' GPUs and its
 * jobs' present ones, what these GPUs need besides. Kinds of which there is
 * enough whoever gets the GPUs, and for those that wait for CPUs of a
 * partition, are left out. -1 with err set: no memory.
 */
int pollux_consumables_fill(const struct pollux_snapshot *snapshot,
			    struct plx_problem *problem,
			    struct pollux_consumables *consumables,
			    struct plx_error *err);

/*
 * What the job that waits takes on each of its nodes: demand[consumable_kinds].
 */
void pollux_consumables_wanted(const struct pollux_snapshot *snapshot,
			       const struct plx_problem *problem,
			       const struct pollux_consumables *consumables,
			       const struct pollux_waiting *waiting,
			       double *demand);

/* Has node n, or has job j of it, what the job needs on each node? */
bool pollux_consumables_has(const struct pollux_snapshot *snapshot, int j,
			    int n);

/* Is what these GPUs need besides, for a job that has none, free now? */
bool pollux_consumables_is_free(const struct pollux_snapshot *snapshot, int j,
				const int *gpus);

#endif
