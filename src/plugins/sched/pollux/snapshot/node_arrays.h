/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * node_arrays.h - what the jobs of a snapshot have on each node
 *
 * Under slurmctld's lock only what jobs have is noted. GPUs are also told by
 * node: of 2,000 jobs on 1,250 nodes that is 10 MB, nearly all zeros, and to
 * write it takes longer than all else of a look. So these arrays are made when
 * the lock is given up, and cleared when the snapshot is destroyed: their
 * memory is kept for the next one. Used by the plugin's thread alone.
 */
#ifndef SCHED_POLLUX_NODE_ARRAYS_H
#define SCHED_POLLUX_NODE_ARRAYS_H

#include "common/slurm_compat.h"
#include "sched/pollux/snapshot/slurm_snapshot.h"

/* Note what the job has, as its record says. READ lock on jobs. */
void pollux_node_arrays_note(struct pollux_snapshot *snapshot,
			     const job_record_t *record,
			     struct pollux_job *job);

/* gpus[] of all its jobs, by what was noted. No lock. */
void pollux_node_arrays_fill(struct pollux_snapshot *snapshot);

/* They are NULL again. No lock. */
void pollux_node_arrays_return(struct pollux_snapshot *snapshot);

/* Free what was kept. */
void pollux_node_arrays_forget(void);

#endif
