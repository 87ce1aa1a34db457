/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * snapshot_fill.h - how a snapshot has its jobs, nodes and types of GPU
 *
 * For those that fill it: of jobs that run, that wait, and that are moldable.
 * READ locks on conf, job, node and partition.
 */
#ifndef SCHED_POLLUX_SNAPSHOT_FILL_H
#define SCHED_POLLUX_SNAPSHOT_FILL_H

#include "common/slurm_compat.h"
#include "sched/pollux/job_options.h"
#include "sched/pollux/snapshot/slurm_snapshot.h"
#include "sched/pollux/rules/nodes.h"

/* Before the lock is taken: there may be so many jobs. */
void pollux_snapshot_expect(struct pollux_snapshot *snapshot, int count);
/* Room for another job, behind all that are counted: zeros. */
struct pollux_job *pollux_snapshot_next(struct pollux_snapshot *snapshot);
/* Forget them; the memory is kept, ... */
void pollux_snapshot_jobs_release(struct pollux_snapshot *snapshot);
/* ... until this. */
void pollux_snapshot_jobs_forget(void);
/* The snapshot's set of these nodes. Takes the bits over. */
int pollux_snapshot_set(struct pollux_snapshot *snapshot, bitstr_t *bits);
/* `allowed` and `required` of all its jobs, by their sets. No lock. */
void pollux_snapshot_sets_fill(struct pollux_snapshot *snapshot);
void pollux_snapshot_sets_release(struct pollux_snapshot *snapshot);
/* What its GPUs and its script take, by its request. */
void pollux_snapshot_needs(const job_record_t *record, struct pollux_job *job);
/* On how many nodes it may be, by its user and the partition. */
void pollux_snapshot_node_range(const job_record_t *record,
				const struct pollux_job_options *asked,
				struct pollux_job *job);
/* The snapshot's number of these types of GPU. */
int pollux_snapshot_types(struct pollux_snapshot *snapshot, const char *types,
			  const struct pollux_rules *rules);
/*
 * Its type of GPU, as one of the snapshot's, and whether its model, which
 * job->status has, is of another. Where it may begin on any one type that is
 * the best of its allowed nodes, and the others are cleared.
 */
void pollux_snapshot_kind(struct pollux_snapshot *snapshot,
			  const job_record_t *record,
			  struct pollux_rules *rules, bitstr_t *allowed,
			  struct pollux_job *job);

#endif
