/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * limit_requeue.h - jobs that go on from the queue at their time limit
 *
 * Of at-limit=requeue. Near its limit such a job is asked as for a move with
 * no GPU (evict.h): it saves, and waits in the queue with the age it had, for
 * a whole time limit more. One that came no further in some time limits in a
 * row ends as any job.
 */
#ifndef SCHED_POLLUX_LIMIT_REQUEUE_H
#define SCHED_POLLUX_LIMIT_REQUEUE_H

#include "sched/pollux/snapshot/slurm_snapshot.h"
#include "sched/pollux/params.h"

/*
 * Ask those of the snapshot whose time it is. The time of day at which it is
 * that of the next one; 0: of none. Locks are taken inside.
 */
double pollux_limit(const struct pollux_snapshot *snapshot,
		    const struct pollux_params *params);

/*
 * Add to a reason that job j will miss its limit with these GPUs, if it will:
 * one that ends there, and tells how much it has left.
 */
void pollux_limit_warn(const struct pollux_snapshot *snapshot, int j,
		       const int *gpus, char *why, size_t size);

#endif
