/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * start_times.h - when jobs that wait are to start, on their records
 *
 * Slurm's backfill takes it that an elastic job keeps all it has until its time
 * limit, and writes start_time and sched_nodes of who waits for it accordingly:
 * StartTime of scontrol, and squeue --start. Here the plan's own answer is
 * written where it is earlier. Each pass of backfill begins by forgetting both,
 * so nothing that it decides comes from here, and it is written again after
 * each. See docs/decisions/0139-start-times.md.
 *
 * Used by the plugin's thread alone.
 */
#ifndef SCHED_POLLUX_START_TIMES_H
#define SCHED_POLLUX_START_TIMES_H

#include "core/reserve/reservation.h"
#include "sched/pollux/backfill/terms.h"
#include "sched/pollux/snapshot/slurm_snapshot.h"

/* What a cycle found: grants[waiting_count]. No lock. */
void pollux_start_times_note(const struct pollux_snapshot *snapshot,
			     const struct pollux_terms *terms,
			     const struct plx_grant *grants);

/*
 * Write them, if backfill has come by or something else was found. Takes
 * slurmctld's locks then.
 */
void pollux_start_times_report(void);

/* What is written stays until backfill comes by. */
void pollux_start_times_forget(void);

#endif
