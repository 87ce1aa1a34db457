/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * dump.h - decisions written to files, for bug reports
 *
 * pollux_dump=DIR: what was decided upon and what was decided, as
 * pollux-alloc(1) reads it. Used by the plugin's thread alone, which holds
 * no lock of slurmctld's then.
 */
#ifndef SCHED_POLLUX_DUMP_H
#define SCHED_POLLUX_DUMP_H

#include "core/search/plan.h"
#include "sched/pollux/snapshot/slurm_snapshot.h"

/*
 * Write a file, unless it says the same as the last one but for the jobs'
 * age. The newest 100 are kept. What goes wrong is logged once an hour, and
 * changes nothing else.
 */
void pollux_dump(const char *dir, const struct pollux_snapshot *snapshot,
		 const struct plx_problem *problem,
		 const struct plx_plan *plan);

#endif
