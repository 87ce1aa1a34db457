/* SPDX-License-Identifier: GPL-2.0-or-later */
/* candidates.h - is a job one that waits, and that a look may have? */
#ifndef SCHED_POLLUX_CANDIDATES_H
#define SCHED_POLLUX_CANDIDATES_H

#include "common/slurm_compat.h"
#include "core/reserve/backlog.h"

/*
 * Does it wait for nodes or a limit (queue_reason.h) or, moldable, for the
 * second in which it begins: is it one that a snapshot has in `waiting` while
 * it is among the first? READ lock on jobs.
 */
bool pollux_is_waiting(const job_record_t *job, time_t now);

/* Are jobs started there? READ lock on partitions. */
bool pollux_takes_jobs(const part_record_t *part);

/*
 * Jobs of a partition with a higher PriorityTier go before all others, as in
 * Slurm; then it is the job's priority.
 */
uint64_t pollux_priority(const job_record_t *job, const part_record_t *part);

/*
 * Others had the locks since these were chosen: keep those that still wait, in
 * the partition they were chosen for, each once, as their records are now and
 * sorted by the priorities of now. How many. READ locks on jobs and partitions.
 */
int pollux_candidates_keep(struct plx_backlog_entry *chosen, int count,
			   time_t now);

#endif
