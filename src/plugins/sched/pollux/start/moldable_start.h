/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * moldable_start.h - moldable jobs are started in the shape that is best now
 *
 * By Slurm's own select_nodes(), after all that its schedulers ask, with the
 * job's request written for the shape; when that is refused the request is put
 * back, and for a minute the job is not tried with so many GPUs. One that is
 * refused its smallest shape, too, is left to Slurm for that minute. Used by
 * the plugin's thread alone.
 */
#ifndef SCHED_POLLUX_MOLDABLE_START_H
#define SCHED_POLLUX_MOLDABLE_START_H

#include "core/search/plan.h"
#include "core/reserve/reservation.h"
#include "sched/pollux/snapshot/slurm_snapshot.h"

/*
 * Start job j of the snapshot, which waits, with gpus[node_count]. False when
 * it was not: Slurm refused, or it does not wait any more. Takes the locks.
 */
bool pollux_moldable_start(const struct pollux_snapshot *snapshot, int j,
			   const int *gpus, const struct plx_grant *grants);

#endif
