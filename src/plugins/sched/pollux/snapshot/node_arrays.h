/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * node_arrays.h - what the jobs of a snapshot have on each node
 *
 * A snapshot of 2,000 jobs on 1,250 nodes has 40 MB of it, nearly all zeros. To
 * write these takes longer than all else of a look, so it is done when a
 * snapshot is destroyed, while no lock of slurmctld's is held, and the memory
 * is kept for the next one. Used by the plugin's thread alone.
 */
#ifndef SCHED_POLLUX_NODE_ARRAYS_H
#define SCHED_POLLUX_NODE_ARRAYS_H

#include "sched/pollux/snapshot/slurm_snapshot.h"

/* job->gpus, cpus and memory, all zeros. */
void pollux_node_arrays_take(struct pollux_job *job, int node_count);

/* They are NULL again. */
void pollux_node_arrays_return(struct pollux_job *job, int node_count);

#endif
