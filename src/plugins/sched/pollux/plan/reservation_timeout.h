/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * reservation_timeout.h - jobs that do not start on what is reserved
 *
 * GPUs are kept back for a waiting job only as far as this plugin understands
 * what it waits for. A job that waits for something else must not keep GPUs
 * idle: some time after its reservation is free they are lent out, for longer
 * each time. Used by the plugin's thread alone.
 */
#ifndef SCHED_POLLUX_RESERVATION_TIMEOUT_H
#define SCHED_POLLUX_RESERVATION_TIMEOUT_H

#include "core/reserve/reservation.h"
#include "sched/pollux/snapshot/slurm_snapshot.h"
#include "sched/pollux/params.h"

/* Set waiting[].ignored for those that waited in vain. */
void pollux_reservation_timeout_apply(struct pollux_snapshot *snapshot,
				      double now_s);

/* Remember whose reservation is free in this cycle: grants[waiting_count]. */
void pollux_reservation_timeout_note(const struct pollux_snapshot *snapshot,
				     const struct plx_grant *grants,
				     const struct pollux_params *params,
				     double now_s);

/* When there is something to be changed; INFINITY: never. */
double pollux_reservation_timeout_next_s(void);

#endif
