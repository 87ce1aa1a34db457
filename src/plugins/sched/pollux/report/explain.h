/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * explain.h - on each job record, why the job has what it has
 *
 * In system_comment, as docs/resize.md says; written when the meaning is
 * another, or once a minute when figures are. While a job is being resized,
 * the reason for that stays.
 */
#ifndef SCHED_POLLUX_EXPLAIN_H
#define SCHED_POLLUX_EXPLAIN_H

#include "core/search/plan.h"
#include "core/records/explanation.h"
#include "sched/pollux/snapshot/slurm_snapshot.h"

/*
 * Tell each job of the snapshot: held[job_count] is what keeps it from what the
 * plan says. plan NULL: none was made. By the plugin's thread; takes the write
 * lock on jobs once, if there is something to write.
 */
void pollux_explain(const struct pollux_snapshot *snapshot,
		    const struct plx_plan *plan, const enum plx_hold *held);

/* Tell all that resizing is switched off. */
void pollux_explain_off(const struct pollux_snapshot *snapshot);

#endif
