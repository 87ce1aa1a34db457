/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * sick_nodes.h - nodes where the ranks of jobs failed
 *
 * The rules are in core/jobs/sick.h; here they meet what jobs tell and what the
 * plan may use. Remembered for as long as slurmctld runs. By the thread alone,
 * without locks.
 */
#ifndef SCHED_POLLUX_PLAN_SICK_NODES_H
#define SCHED_POLLUX_PLAN_SICK_NODES_H

#include "common/slurm_compat.h"
#include "core/jobs/sick.h"
#include "sched/pollux/snapshot/slurm_snapshot.h"
#include "sched/pollux/params.h"
#include "sched/pollux/job_state.h"

/*
 * Take what job j tells of ranks that failed: believed about nodes that it has
 * alone. A resize that failed so is undone (resize/back.h).
 */
void pollux_sick_hear(const struct pollux_snapshot *snapshot, int j,
		      struct pollux_job_state *state,
		      const struct pollux_params *params);

/* The same, of a prolog that failed on these. Any lock will do. */
void pollux_sick_prolog(const job_record_t *job, const char *nodes);

/* Close nodes to the jobs of the snapshot. */
void pollux_sick_apply(struct pollux_snapshot *snapshot, double now_s);

/* Before the snapshot is destroyed. */
void pollux_sick_release(struct pollux_snapshot *snapshot);

/* Has one opened since? Then a cycle is due. */
bool pollux_sick_due(double now_s);

/* Nodes closed to all elastic jobs. */
int pollux_sick_count(double now_s);

/* Why a node is closed to all, "": it is not. */
void pollux_sick_of(const char *node, double now_s, char *text, size_t size);

/* Which nodes are closed to the job and why; "": none. */
void pollux_sick_why(const struct pollux_snapshot *snapshot, int j, char *text,
		     size_t size);

void pollux_sick_forget_all(void);

#endif
