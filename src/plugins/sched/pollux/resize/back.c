/* SPDX-License-Identifier: GPL-2.0-or-later */
/* back.c - a resize whose new ranks failed is undone */

#include "sched/pollux/record.h"
#include "sched/pollux/locks.h"
#include "sched/pollux/resize/resize.h"
#include "sched/pollux/resize/back.h"
#include "sched/pollux/resize/before.h"
#include "sched/pollux/resize/target_shape.h"

void pollux_back_before(const job_record_t *job, struct pollux_job_state *state)
{
	pollux_before_note(job, &state->back);
	state->back_step = job->next_step_id;
}

bool pollux_back_asked(const struct pollux_job_state *state,
		       const struct plx_status *status)
{
	return status->failed.is &&
	       status->failed.serial == state->target.serial &&
	       state->target.serial;
}

/* Its script and its launcher stay where they are, also without a GPU there. */
static struct pollux_shape _shape(job_record_t *job, const int *gpus,
				  const struct plx_status *status)
{
	struct pollux_shape shape =
		pollux_shape_of(gpus, node_record_count,
				MAX(pollux_record_batch_host(job, status), 0));

	pollux_target_shape_host(job, status, &shape);
	return shape;
}

/* What it has, without the nodes that were named. */
static void _without(const job_record_t *job, const struct plx_status *status,
		     int *gpus)
{
	pollux_record_gpus(job, gpus);
	for (int n = 0; n < node_record_count; n++) {
		const node_record_t *node = node_record_table_ptr[n];

		if (gpus[n] && node &&
		    plx_failed_names(&status->failed, node->name))
			gpus[n] = 0;
	}
}

bool pollux_back_clear(job_record_t *job, const struct pollux_job_state *state,
		       const struct plx_status *status)
{
	int all = pollux_record_steps(job, status, POLLUX_ALL_STEPS);

	/* slurmctld was started since: one may be that of the old ranks. */
	if (!pollux_before_known(&state->back))
		return all <= 1;
	return all == pollux_record_steps(job, status, state->back_step);
}

int pollux_back(job_record_t *job, const struct pollux_job_state *state,
		const struct plx_status *status, struct plx_error *err)
{
	int *gpus = pollux_before_gpus(&state->back);
	struct pollux_shape shape = { NULL };
	int rc = -1;

	if (pollux_before_known(&state->back)) {
		shape = _shape(job, gpus, status);
		shape.back = true;
		rc = pollux_resize(job, &shape, err);
		pollux_shape_release(&shape);
		if (rc < 0)
			pollux_info("sched/pollux: JobId=%u cannot have what "
				    "it had: %s",
				    job->job_id, err->text);
	}
	if (rc < 0) {
		_without(job, status, gpus);
		shape = _shape(job, gpus, status);
		rc = pollux_resize(job, &shape, err);
		pollux_shape_release(&shape);
	}
	xfree(gpus);
	return rc;
}
