/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * lost.h - jobs that Slurm did not take back after a resize that failed
 *
 * Their GPUs look free, though they run on them. Before the lock is given up,
 * in which this was seen, such a job is put back into the queue, and Slurm
 * waits for its end as for any; or, where it may not be requeued, its nodes
 * are drained (decision 0068).
 *
 * WRITE locks on jobs and nodes, by the plugin's thread alone.
 */
#ifndef SCHED_POLLUX_LOST_H
#define SCHED_POLLUX_LOST_H

#include "core/base/error.h"
#include "common/slurm_compat.h"

/* The job is one; err says what Slurm refused. */
void pollux_lost_note(const job_record_t *job, const struct plx_error *err);

/* End all that were noted. To be called before the lock is given up. */
void pollux_lost_end(void);

#endif
