/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * spread_start.h - an elastic job starts with its least GPUs on several nodes
 *
 * Slurm starts a job in the shape of its request alone: this one is written
 * anew for the shape that plan/spread.h found, and put back when Slurm refuses
 * it. See docs/decisions/0043-least-gpus-on-several-nodes.md.
 */
#ifndef SCHED_POLLUX_START_SPREAD_START_H
#define SCHED_POLLUX_START_SPREAD_START_H

#include "core/reserve/reservation.h"
#include "sched/pollux/snapshot/slurm_snapshot.h"
#include "common/slurm_compat.h"

/* Is the reservation another shape than that of its request, to be started
 * here? */
bool pollux_spread_is(const struct pollux_waiting *waiting,
		      const struct plx_grant *grant);

/*
 * Start it with so many GPUs on each of the nodes. Alone: not where another
 * elastic job has several nodes. -1 with err set; it is pending as before then.
 * Locks as for pollux_launch().
 */
int pollux_spread_start(job_record_t *job, bitstr_t *nodes, int gpus,
			bool alone, struct plx_error *err);

#endif
