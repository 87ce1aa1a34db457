/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * job_limits.h - what limits leave to each elastic job, for the plan
 *
 * So that nothing is planned that limits.h would refuse, again and again.
 */
#ifndef SCHED_POLLUX_JOB_LIMITS_H
#define SCHED_POLLUX_JOB_LIMITS_H

#include "common/slurm_compat.h"
#include "sched/pollux/snapshot/slurm_snapshot.h"

/*
 * Fill capped, most_gpus and demand of the snapshot's jobs, demand of its
 * waiting jobs, and its pools; take away nodes that a limit of nodes forbids.
 * All else is filled already. Under slurmctld's read lock on jobs.
 */
void pollux_job_limits_fill(struct pollux_snapshot *snapshot);
/* Fill node_gpus by limits of memory; before the above, of a running job. */
void pollux_job_limits_node(const struct pollux_snapshot *snapshot,
			    const job_record_t *record, struct pollux_job *job);
void pollux_job_limits_release(struct pollux_snapshot *snapshot);

#endif
