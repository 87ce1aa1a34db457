/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * reservations.h - GPUs kept back for the jobs of a snapshot that wait
 *
 * No lock, no Slurm.
 */
#ifndef SCHED_POLLUX_RESERVATIONS_H
#define SCHED_POLLUX_RESERVATIONS_H

#include "core/reserve/reservation.h"
#include "sched/pollux/backfill/terms.h"
#include "sched/pollux/snapshot/slurm_snapshot.h"
#include "sched/pollux/plan/consumables.h"

/*
 * Take GPUs, and the consumables beside them, out of the problem, which is
 * about the snapshot's jobs, for waiting jobs that are not to be ignored;
 * parked jobs come back in the order of their priority, as if they waited, too.
 * grants[waiting_count].
 */
int pollux_reservations_make(const struct pollux_snapshot *snapshot,
			     const struct pollux_terms *terms,
			     struct plx_problem *problem,
			     const struct pollux_consumables *consumables,
			     struct plx_grant *grants, struct plx_error *err);

#endif
