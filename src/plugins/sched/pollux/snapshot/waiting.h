/* SPDX-License-Identifier: GPL-2.0-or-later */
/* waiting.h - which pending jobs wait for resources, and for how many */
#ifndef SCHED_POLLUX_WAITING_H
#define SCHED_POLLUX_WAITING_H

#include "common/slurm_compat.h"
#include "core/reserve/backlog.h"
#include "sched/pollux/backfill/terms.h"
#include "sched/pollux/snapshot/candidates.h"
#include "sched/pollux/snapshot/preempts.h"
#include "sched/pollux/snapshot/slurm_snapshot.h"
#include "sched/pollux/rules/nodes.h"

/* So many jobs are looked at. */
int pollux_waiting_most(const struct pollux_terms *terms);

/*
 * Offer the job to those that are looked at, in each of its partitions, if it
 * waits. backlog NULL: to nobody. preempts: of this look, or NULL. Read lock on
 * jobs.
 */
void pollux_waiting_offer(const job_record_t *job, time_t now,
			  struct pollux_preempts *preempts,
			  struct plx_backlog *backlog);

/*
 * Fill snapshot->waiting with the first of them, as many as backfill would look
 * at of one user, partition or association, highest priority first. backlog
 * NULL: none; those that do not wait any more are left out. snapshot->nodes is
 * filled already. Under a read lock on jobs and nodes.
 */
void pollux_waiting_fill(const struct plx_backlog *backlog,
			 struct pollux_preempts *preempts,
			 const struct pollux_terms *terms,
			 struct pollux_snapshot *snapshot,
			 struct pollux_rules *rules);

/*
 * Does anything wait beside elastic jobs, or for us to start it? Then it counts
 * how long rigid jobs stay. After pollux_moldable_jobs_fill().
 */
bool pollux_waiting_is_ours(const struct pollux_snapshot *snapshot);

#endif
