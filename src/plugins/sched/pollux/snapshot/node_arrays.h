/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * node_arrays.h - what the jobs of a snapshot have on each node
 *
 * A snapshot of 2,000 jobs on 1,250 nodes has 40 MB of it, nearly all zeros. To
 * write these takes longer than all else of a look. So under slurmctld's lock
 * only what jobs have is noted; the arrays are made from that when the lock is
 * given up, and cleared when the snapshot is destroyed: their memory is kept
 * for the next one. Used by the plugin's thread alone.
 */
#ifndef SCHED_POLLUX_NODE_ARRAYS_H
#define SCHED_POLLUX_NODE_ARRAYS_H

#include "common/slurm_compat.h"
#include "sched/pollux/snapshot/slurm_snapshot.h"

/* Note what the job has, as its record says. READ lock on jobs. */
void pollux_node_arrays_note(struct pollux_snapshot *snapshot,
			     const job_record_t *record,
			     struct pollux_job *job);

/* gpus, cpus and memory of all its jobs, by what was noted. No lock. */
void pollux_node_arrays_fill(struct pollux_snapshot *snapshot);

/* They are NULL again. No lock. */
void pollux_node_arrays_return(struct pollux_snapshot *snapshot);

/* Free what was kept. */
void pollux_node_arrays_forget(void);

#endif
