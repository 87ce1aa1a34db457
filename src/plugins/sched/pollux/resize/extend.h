/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * extend.h - time without GPUs is given back to a job's time limit
 *
 * A job that is parked ends as much later as that lasts; with
 * pollux_time_back=share also by what it lost below its fair share. As far as
 * rules/end.h allows; what is not allowed is owed, and tried again. The record
 * says how much was given so far. Used by the plugin's thread alone; locks are
 * taken inside.
 */
#ifndef SCHED_POLLUX_EXTEND_H
#define SCHED_POLLUX_EXTEND_H

#include "sched/pollux/params.h"
#include "sched/pollux/job_state.h"
#include "common/slurm_compat.h"

/* Give what is due; at most once a second. */
void pollux_extend(const struct pollux_params *params);

/* A job state was made: what its job's record knows. */
void pollux_extend_begin(struct pollux_job_state *state,
			 const struct plx_target *target);

/* Another run begins: it is owed nothing. */
void pollux_extend_forget(struct pollux_job_state *state);

/*
 * The job's limit is still what it became when time was last given back: nobody
 * has set it since.
 */
bool pollux_extend_is_ours(const job_record_t *job,
			   const struct plx_target *target);

/* Slurm's minutes by which a limit is longer that was given so much. */
uint32_t pollux_given_minutes(int given_s);

#endif
