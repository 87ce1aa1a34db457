/* SPDX-License-Identifier: GPL-2.0-or-later */
/* waiting.h - which pending jobs wait for resources, and for how many */
#ifndef SCHED_POLLUX_WAITING_H
#define SCHED_POLLUX_WAITING_H

#include "common/slurm_compat.h"
#include "sched/pollux/look/view.h"

/*
 * Fill view->waiting with at most POLLUX_PENDING_MAX jobs, highest priority
 * first. view->nodes is filled already. Under a read lock on jobs and nodes.
 */
void pollux_waiting_fill(struct pollux_view *view);

#endif
