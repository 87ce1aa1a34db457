/* SPDX-License-Identifier: GPL-2.0-or-later */
/* queue_reason.h - what a pending job waits for, by Slurm's reason */
#ifndef SCHED_POLLUX_QUEUE_REASON_H
#define SCHED_POLLUX_QUEUE_REASON_H

#include <stdbool.h>

#include "common/slurm_compat.h"

/*
 * Would it start if there were room? Not if it waits for a dependency, a
 * limit, a time or a person. Read lock on jobs.
 */
bool pollux_waits_for_nodes(const job_record_t *job, time_t now);

/* Does Slurm name a limit of an association or a QOS? Same lock. */
bool pollux_reason_is_limit(const job_record_t *job);

/* The same, of one that is due and not held. */
bool pollux_waits_for_limit(const job_record_t *job, time_t now);

#endif
