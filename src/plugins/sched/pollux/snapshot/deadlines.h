/* SPDX-License-Identifier: GPL-2.0-or-later */
/* deadlines.h - nodes that were announced to go away */
#ifndef SCHED_POLLUX_DEADLINES_H
#define SCHED_POLLUX_DEADLINES_H

#include "common/slurm_compat.h"

/*
 * Is it time for whole jobs to leave node n, as the reason of its drain says
 * (core/records/drain_deadline.h)? A time that is none is told once. Read lock
 * on nodes; by the plugin's thread alone.
 */
bool pollux_deadlines_due(const node_record_t *node, int n, time_t now);

void pollux_deadlines_forget_all(void);

#endif
