/* SPDX-License-Identifier: GPL-2.0-or-later */
/* promises.h - GPUs that jobs were asked to have, and others got */
#ifndef SCHED_POLLUX_PROMISES_H
#define SCHED_POLLUX_PROMISES_H

#include "sched/pollux/plan/problem.h"

/*
 * Slurm starts jobs where it likes, on GPUs too that a busy job was asked to
 * have. What a node does not have twice is taken from the targets of those who
 * do not hold it yet, of the last job first. Targets are changed.
 */
void pollux_promises_keep(const struct pollux_view *view,
			  struct pollux_standing *standings);

#endif
