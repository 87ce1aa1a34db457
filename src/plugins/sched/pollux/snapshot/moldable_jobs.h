/* SPDX-License-Identifier: GPL-2.0-or-later */
/* moldable_jobs.h - moldable jobs that wait for their start, or run */
#ifndef SCHED_POLLUX_MOLDABLE_JOBS_H
#define SCHED_POLLUX_MOLDABLE_JOBS_H

#include "common/slurm_compat.h"
#include "sched/pollux/snapshot/slurm_snapshot.h"
#include "sched/pollux/rules/nodes.h"

/*
 * Is this a moldable job that Slurm may start now, and pollux in another shape
 * than its smallest? Not one that is held, depends on another, begins later,
 * has to have certain nodes, or is an array of which none has started. Any
 * lock on jobs.
 */
bool pollux_moldable_waits(const job_record_t *job, time_t now);

/*
 * The status of a moldable job in its comment: a hint, as any elastic job's,
 * but it need not have any; and "saved=TIME" (seconds since 1970), its last
 * checkpoint.
 */
void pollux_moldable_status(const job_record_t *record, struct pollux_job *job);

/* Add those of snapshot->waiting to snapshot->jobs, behind the ones that run.
 */
void pollux_moldable_jobs_fill(struct pollux_snapshot *snapshot,
			       struct pollux_rules *rules);

/* When a moldable job that is not held begins, if soon; for snapshot->begins_s.
 */
void pollux_moldable_begins(const job_record_t *job,
			    struct pollux_snapshot *snapshot);

#endif
