/* SPDX-License-Identifier: GPL-2.0-or-later */
/* snapshot_read.h - what is asked of a snapshot that was made */
#ifndef SCHED_POLLUX_SNAPSHOT_READ_H
#define SCHED_POLLUX_SNAPSHOT_READ_H

#include "sched/pollux/snapshot/slurm_snapshot.h"

/* Index of the node so called; -1: there is none. */
int pollux_snapshot_find(const struct pollux_snapshot *snapshot,
			 const char *name);

/*
 * These of its nodes[node_count], as a text; the caller's. By the snapshot: no
 * lock is needed, and slurmctld's table may be rebuilt.
 */
char *pollux_snapshot_names(const struct pollux_snapshot *snapshot,
			    const bool *nodes);

/* A set as an array of its nodes, made once and the snapshot's; -1: NULL. */
const bool *pollux_snapshot_nodes(struct pollux_snapshot *snapshot, int set);

/* Is each node still what it was? Under any lock on nodes. */
bool pollux_snapshot_same_nodes(const struct pollux_snapshot *snapshot);

#endif
