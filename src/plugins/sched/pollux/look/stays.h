/* SPDX-License-Identifier: GPL-2.0-or-later */
/* stays.h - what jobs hold that are not elastic, and until when */
#ifndef SCHED_POLLUX_STAYS_H
#define SCHED_POLLUX_STAYS_H

#include "common/slurm_compat.h"
#include "sched/pollux/look/view.h"

#define POLLUX_STAYS_MAX 100000 /* nodes of such jobs looked at */

/* Does the job hold something that it will give back at its end? */
bool pollux_stays(const job_record_t *job);

/*
 * Add what it holds to view->stays. gpus: room for a number a node. Under a
 * read lock on jobs and nodes.
 */
void pollux_stays_add(const job_record_t *job, int *gpus,
		      struct pollux_view *view);

/* Seconds until the job has to end. */
double pollux_ends_s(const job_record_t *job, time_t now);

#endif
