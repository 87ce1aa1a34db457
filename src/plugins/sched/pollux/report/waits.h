/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * waits.h - on the record of each elastic job that waits, why it does
 *
 * As explain.h for those that run. A job that Slurm would not start whatever
 * room there is (held, a dependency, a time) has Slurm's Reason alone.
 */
#ifndef SCHED_POLLUX_WAITS_H
#define SCHED_POLLUX_WAITS_H

#include "core/search/plan.h"
#include "core/reserve/reservation.h"
#include "sched/pollux/snapshot/slurm_snapshot.h"

/*
 * Tell those of snapshot->waiting, a few times a minute; grants[waiting_count].
 * plan NULL: none was made, resizing is switched off. By the plugin's thread;
 * takes the write lock on jobs once, if there is something to write.
 */
void pollux_waits_report(const struct pollux_snapshot *snapshot,
			 const struct plx_plan *plan,
			 const struct plx_grant *grants);

#endif
