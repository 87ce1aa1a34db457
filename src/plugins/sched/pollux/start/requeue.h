/* SPDX-License-Identifier: GPL-2.0-or-later */
/* requeue.h - elastic jobs that Slurm put back into the queue */
#ifndef SCHED_POLLUX_REQUEUE_H
#define SCHED_POLLUX_REQUEUE_H

#include <stdbool.h>

#include "common/slurm_compat.h"

/*
 * Pending, but with a target from when it ran: it would start in the shape
 * it had last, perhaps parked. Or any job that has not forgotten its last run,
 * see pollux_requeue_finish(); or one whose last run still ends, and which
 * Slurm may start in the millisecond in which it has. READ lock on jobs.
 */
bool pollux_requeued(const job_record_t *job);

/*
 * Those of these jobs that still are forget their last run, and elastic ones
 * ask for their smallest shape again. Where the last run still ends, the job
 * gets Slurm's delay now. Takes slurmctld's locks.
 */
void pollux_requeue_reset(const uint32_t *ids, int count);

/*
 * One of them asks for its smallest shape again, and forgets its target.
 * WRITE lock on jobs.
 */
void pollux_requeue_let(job_record_t *job);

/*
 * Its smallest shape, and nothing else: in whatever second Slurm looks at a job
 * that is in its queue for us, it finds a request that can be had. Its GPUs; 0
 * when it stays as it was, which is logged. WRITE lock on jobs.
 */
int pollux_requeue_shape(job_record_t *job);

/*
 * Slurm holds for good what it found impossible, as the request of a job on its
 * way was once; now that it is another, it counts again. Priority 0: a new one.
 * WRITE lock on jobs.
 */
void pollux_requeue_unhold(job_record_t *job, uint32_t priority);

/*
 * When the last node of a job is lost that is on its way into the queue, Slurm
 * does not forget its run: it starts in accounting's rows of that one, and its
 * GPUs are never given back. Then it is told to. WRITE lock on jobs.
 */
void pollux_requeue_finish(job_record_t *job);

/*
 * A job that was put into the queue for a move waits no longer than others,
 * and is as old as before. WRITE lock on jobs.
 */
void pollux_requeue_mend(job_record_t *job, const struct plx_target *target);

/* Leave out our section of a comment; the user's text stays. */
void pollux_requeue_forget(char **comment);

#endif
