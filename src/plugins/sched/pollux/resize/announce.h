/* SPDX-License-Identifier: GPL-2.0-or-later */
/* announce.h - what a job's record says of its target, and how it is refused */
#ifndef SCHED_POLLUX_ANNOUNCE_H
#define SCHED_POLLUX_ANNOUNCE_H

#include "common/slurm_compat.h"
#include "core/base/error.h"
#include "sched/pollux/job_state.h"

/*
 * Publish the job's target in a state; why NULL: as before. WRITE lock on
 * jobs, also for the next, which says that the job keeps what it has.
 */
void pollux_announce(job_record_t *job, struct pollux_job_state *state,
		     enum plx_target_state to, const char *why);
/* The same; why->kind is one of core/records/refusal.h. */
void pollux_refuse(job_record_t *job, struct pollux_job_state *state,
		   const struct plx_error *why);

/* It stays as it is for a while, longer each time. */
void pollux_leave_alone(const job_record_t *job, struct pollux_job_state *state,
			const struct plx_error *why);

/* For how long it would be left alone if it were refused now. */
double pollux_alone_s(const struct pollux_job_state *state);

/*
 * Was it refused so lately that it is not asked again? Where it is urgent each
 * refusal counts as the first one.
 */
bool pollux_left_alone(const struct pollux_job_state *state, bool urgent,
		       double now_s);

#endif
