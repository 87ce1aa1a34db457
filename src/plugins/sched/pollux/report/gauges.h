/* SPDX-License-Identifier: GPL-2.0-or-later */
/* gauges.h - how the cluster does, as the last cycle found it */
#ifndef SCHED_POLLUX_GAUGES_H
#define SCHED_POLLUX_GAUGES_H

#include "core/search/plan.h"
#include "sched/pollux/snapshot/slurm_snapshot.h"

/* Counts what it finds. reserved[node_count]: GPUs kept back. No lock. */
void pollux_gauges(const struct pollux_snapshot *snapshot,
		   const struct plx_problem *problem,
		   const struct plx_plan *plan, const int *reserved);

#endif
