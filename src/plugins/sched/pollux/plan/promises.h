/* SPDX-License-Identifier: GPL-2.0-or-later */
/* promises.h - GPUs that jobs were asked to have, and others got */
#ifndef SCHED_POLLUX_PROMISES_H
#define SCHED_POLLUX_PROMISES_H

#include "sched/pollux/plan/snapshot_problem.h"

/*
 * Slurm starts jobs where it likes, on GPUs too that a busy job was asked to
 * have. Who would be planned upon as if it had them would take them from
 * others. So what is neither free nor being given up is taken from the targets,
 * of the last job first. Targets are changed.
 */
void pollux_promises_keep(const struct pollux_snapshot *snapshot,
			  struct pollux_job_input *inputs);

#endif
