/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * back.h - a resize whose new ranks failed is undone
 *
 * The launcher says so in its status (core/records/failed.h). Where the old
 * ranks still train they go on; else they are started again on what the job
 * had.
 */
#ifndef SCHED_POLLUX_BACK_H
#define SCHED_POLLUX_BACK_H

#include "common/slurm_compat.h"
#include "core/records/status.h"
#include "sched/pollux/job_shape.h"
#include "sched/pollux/job_state.h"

/* Before a resize, under its locks: remember what the job has. */
void pollux_back_before(const job_record_t *job,
			struct pollux_job_state *state);

/* Does the launcher ask for that, by its answer to the target we gave? */
bool pollux_back_asked(const struct pollux_job_state *state,
		       const struct plx_status *status);

/* Are the steps gone that were begun since? READ lock on jobs. */
bool pollux_back_clear(job_record_t *job, const struct pollux_job_state *state,
		       const struct plx_status *status);

/*
 * Give the job what it had, or else what it has without the nodes that its
 * launcher named. As pollux_resize().
 */
int pollux_back(job_record_t *job, const struct pollux_job_state *state,
		const struct plx_status *status, struct plx_error *err);

#endif
