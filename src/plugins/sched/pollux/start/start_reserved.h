/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * start_reserved.h - jobs start on what is reserved for them, at once
 *
 * Slurm's own schedulers would find it, too, but backfill looks every half
 * minute, and what elastic jobs gave up would lie idle. Only jobs for which
 * some had to give way are started here, and those that start in another shape
 * than they asked for (spread_start.h): all others are Slurm's alone.
 * Used by the plugin's thread alone.
 */
#ifndef SCHED_POLLUX_START_RESERVED_H
#define SCHED_POLLUX_START_RESERVED_H

#include "core/reserve/reservation.h"
#include "sched/pollux/snapshot/slurm_snapshot.h"

/*
 * Mark the first jobs that want whole nodes and that Slurm would start there:
 * running jobs of lower priority may be put into the queue for these alone
 * (plan/leave.h). Takes slurmctld's locks.
 */
void pollux_start_reserved_clear(struct pollux_snapshot *snapshot);

/*
 * Remember what is reserved for which jobs: grants[waiting_count]. Alone: one
 * job of several nodes a node.
 */
void pollux_start_reserved_note(const struct pollux_snapshot *snapshot,
				const struct plx_grant *grants, bool alone);

/* Does any job wait for its reservation to become free? */
bool pollux_start_reserved_any(void);

/* Was the last guard lifted since this was asked? Others may start there. */
bool pollux_start_reserved_lifted(void);

/*
 * Start those whose reservation is free, as far as Slurm agrees. Their number.
 * Takes slurmctld's locks.
 */
int pollux_start_reserved(double now_s);

void pollux_start_reserved_forget_all(void);

#endif
