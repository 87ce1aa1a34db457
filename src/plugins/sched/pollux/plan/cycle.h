/* SPDX-License-Identifier: GPL-2.0-or-later */
/* cycle.h - one decision about all elastic jobs */
#ifndef SCHED_POLLUX_CYCLE_H
#define SCHED_POLLUX_CYCLE_H

#include "sched/pollux/snapshot/slurm_snapshot.h"
#include "sched/pollux/params.h"

/*
 * Make a problem of what was seen, search, and ask jobs for what the plan
 * gives them. By the plugin's thread, which holds no lock; now_s: monotonic.
 */
void pollux_cycle(const struct pollux_snapshot *snapshot,
		  const struct pollux_params *params, double now_s);

#endif
