/* SPDX-License-Identifier: GPL-2.0-or-later */
/* notify.h - signals to a job's launcher and steps */
#ifndef SCHED_POLLUX_NOTIFY_H
#define SCHED_POLLUX_NOTIFY_H

#include "common/slurm_compat.h"
#include "core/records/status.h"
#include "sched/pollux/job_state.h"

/*
 * Tell the launcher to look at its job record: SIGURG, which nobody minds.
 * Queued, so it returns at once. Under a lock on jobs.
 */
void pollux_notify_launcher(job_record_t *job, const struct plx_status *status);

/*
 * The same for a launcher that was asked and has not answered yet: a signal may
 * be lost, and it looks by itself only now and then. Rarer each time.
 */
void pollux_notify_again(job_record_t *job, struct pollux_job_state *state);

/*
 * Kill the steps with numbers from `from` to below `before`, but not the
 * launcher's and Slurm's own. WRITE lock on jobs.
 */
void pollux_kill_steps(job_record_t *job, const struct plx_status *status,
		       uint32_t from, uint32_t before);

#endif
