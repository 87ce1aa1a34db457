/* SPDX-License-Identifier: GPL-2.0-or-later */
/* power.h - nodes that Slurm has suspended */
#ifndef SCHED_POLLUX_POWER_H
#define SCHED_POLLUX_POWER_H

#include "sched/pollux/snapshot/slurm_snapshot.h"

/*
 * Have Slurm resume node n of the snapshot, as `scontrol update state=power_up`
 * does. False when it does not, which is logged. Takes write locks.
 */
bool pollux_power_up(const struct pollux_snapshot *snapshot, int n);

#endif
