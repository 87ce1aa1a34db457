/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * guard.h - nodes where nobody else starts while room is made there
 *
 * Elastic jobs give up GPUs one after the other. In between, backfill would
 * start whoever fits into a part of it, and the job that the room is for would
 * wait for that one to end. So these nodes are taken off share_node_bitmap, as
 * Slurm does for a job that shares its nodes with nobody: its schedulers find
 * them busy, for now, and plan on. Nothing else of the node changes, nothing
 * is saved, and Slurm itself makes the bitmap anew when it reads its
 * configuration.
 *
 * Used by the plugin's thread alone, under a lock on nodes: to write where
 * nothing else is said.
 */
#ifndef SCHED_POLLUX_GUARD_H
#define SCHED_POLLUX_GUARD_H

#include "common/slurm_compat.h"

/* Guard these nodes, copied, and no others; NULL: none. */
void pollux_guard_set(bitstr_t *nodes);

/*
 * Are just these guarded (NULL: none), and is Slurm still told so? A lock to
 * read will do.
 */
bool pollux_guard_holds(bitstr_t *nodes);

/* Is any node guarded, or this one? No lock. */
bool pollux_guard_any(void);
bool pollux_guard_has(int n);

/* select_nodes() as if none were. */
int pollux_guard_select(job_record_t *job, uint32_t scheduler);

/*
 * Clear nodes that Slurm shares with nobody, the guarded ones not counted. A
 * lock to read will do.
 */
void pollux_guard_filter(bitstr_t *nodes);

/* slurmctld ends, or becomes the backup: without a lock, and as it is. */
void pollux_guard_forget(void);

#endif
