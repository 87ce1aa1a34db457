/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * evict.h - a whole job gives up its place and waits in the queue
 *
 * It was asked as for a move, with no GPU: it has saved, and was put back into
 * the queue. There it asks for its smallest shape, is as old as before and not
 * held back, and is started as any job that waits. Its record says why.
 * WRITE lock on jobs.
 */
#ifndef SCHED_POLLUX_EVICT_H
#define SCHED_POLLUX_EVICT_H

#include "sched/pollux/job_state.h"
#include "common/slurm_compat.h"

/* It may start from now on. */
void pollux_evict(job_record_t *job, struct pollux_job_state *state);

#endif
