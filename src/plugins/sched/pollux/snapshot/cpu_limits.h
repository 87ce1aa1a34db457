/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * cpu_limits.h - CPUs of nodes that some jobs share, and are not all there are
 *
 * MaxCPUsPerNode, for the jobs of a partition; and the cores of a node that
 * reservations leave to jobs.
 */
#ifndef SCHED_POLLUX_CPU_LIMITS_H
#define SCHED_POLLUX_CPU_LIMITS_H

#include "common/slurm_compat.h"
#include "sched/pollux/snapshot/slurm_snapshot.h"

/*
 * Which of the snapshot's counts for jobs of the partition; -1: none. A lock on
 * partitions.
 */
int pollux_cpu_limit_of(struct pollux_snapshot *snapshot,
			const part_record_t *part);

/* Take what the job, which holds resources, has of its own. */
void pollux_cpu_limit_take(struct pollux_snapshot *snapshot,
			   const job_record_t *job);

/*
 * Which counts for jobs that may not have these cores, which are released; -1:
 * none. What is left is right after _settle().
 */
int pollux_cpu_limit_unreserved(struct pollux_snapshot *snapshot,
				pollux_barred_t *barred);

/* Take the cores of all jobs that hold resources. A lock on jobs and nodes. */
void pollux_cpu_limits_settle(struct pollux_snapshot *snapshot,
			      job_record_t **holders, int count);

void pollux_cpu_limits_release(struct pollux_snapshot *snapshot);

#endif
