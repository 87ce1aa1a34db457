/* SPDX-License-Identifier: GPL-2.0-or-later */
/* moldable_jobs.h - moldable jobs that wait for their start, or run */
#ifndef SCHED_POLLUX_MOLDABLE_JOBS_H
#define SCHED_POLLUX_MOLDABLE_JOBS_H

#include "common/slurm_compat.h"
#include "sched/pollux/look/slurm_snapshot.h"
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

/* slurm_snapshot.c: room for another job, behind all that are counted. */
struct pollux_job *pollux_snapshot_next(struct pollux_snapshot *snapshot);
/*
 * slurm_snapshot.c: as an array, which many jobs have in common. Takes the bits
 * over.
 */
const bool *pollux_snapshot_set(struct pollux_snapshot *snapshot,
				bitstr_t *bits);
/* slurm_snapshot.c: on how many nodes it may be, by its user and the partition.
 */
void pollux_snapshot_node_range(const job_record_t *record,
				struct pollux_job *job);
/*
 * slurm_snapshot.c: its type of GPU, as one of the snapshot's; -1: any. Where
 * it may begin on any one type that is the best of its allowed nodes, and the
 * others are cleared.
 */
int pollux_snapshot_kind(struct pollux_snapshot *snapshot,
			 const job_record_t *record, struct pollux_rules *rules,
			 bitstr_t *allowed);

#endif
