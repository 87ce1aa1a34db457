/* SPDX-License-Identifier: GPL-2.0-or-later */
/* lease_watch.c - jobs that do not train give up what is above their least */

#include <stdio.h>

#include "common/slurm_compat.h"
#include "sched/pollux/snapshot/snapshot_read.h"
#include "sched/pollux/plan/claims.h"
#include "sched/pollux/plan/lease_watch.h"
#include "sched/pollux/monotonic.h"
#include "sched/pollux/resize/announce.h"
#include "sched/pollux/resize/resize_request.h"

/* What it may be left with, keep[node_count]; the sum. */
static int _least(const struct pollux_snapshot *snapshot,
		  const struct pollux_job *job, int *keep)
{
	const struct plx_least least = {
		.gpus = job->gpus,
		.node_count = snapshot->node_count,
		.batch_host = job->batch_host,
		.wanted = job->required,
		.min_gpus = MAX(job->options.min_gpus, 1),
		.min_nodes = job->min_nodes,
		.whole = job->whole_gpus > 0,
		.sizes = &job->options.sizes,
	};

	return plx_lease_least(&least, keep);
}

static int _above_least(const struct pollux_snapshot *snapshot, int j)
{
	int *keep = xcalloc(snapshot->node_count + 1, sizeof(*keep));
	int above = snapshot->jobs[j].has_gpus -
		    _least(snapshot, &snapshot->jobs[j], keep);

	xfree(keep);
	return above;
}

void pollux_lease_hear(const struct pollux_snapshot *snapshot, int j,
		       struct pollux_job_state *state,
		       const struct pollux_params *params)
{
	const struct pollux_job *job = &snapshot->jobs[j];
	const char *why = plx_lease_why(job->told ? &job->status : NULL);

	if (!why)
		state->lapse = NULL;
	if (pollux_is_moldable(job) || _above_least(snapshot, j) <= 0) {
		plx_lease_reset(&state->lease);
		return;
	}
	/* It is asked already, or nobody can: its time stands still. */
	if (!params->enabled || job->bound || state->phase != POLLUX_IDLE) {
		plx_lease_pause(&state->lease);
		return;
	}
	if (!plx_lease_look(&state->lease, pollux_now_s(), why != NULL,
			    params->lease_s))
		return;
	if (!state->lapse)
		pollux_claims_break(state, "it holds GPUs without training");
	state->lapse = why;
}

static void _ask(const struct pollux_snapshot *snapshot, int j,
		 const struct pollux_job_state *state,
		 const struct pollux_params *params)
{
	int *keep = xcalloc(snapshot->node_count + 1, sizeof(*keep));
	int least = _least(snapshot, &snapshot->jobs[j], keep);
	char why[PLX_WHY_SIZE];

	snprintf(why, sizeof(why),
		 "shrinks %d -> %d GPUs: %s, and more than its least is lent "
		 "to it for %.0f s then",
		 snapshot->jobs[j].has_gpus, least, state->lapse,
		 params->lease_s);
	(void) pollux_resize_request_least(snapshot, j, keep, why, params);
	xfree(keep);
}

void pollux_lease_claim(const struct pollux_snapshot *snapshot,
			const struct pollux_params *params)
{
	double now_s = pollux_now_s();

	for (int j = 0; j < snapshot->job_count; j++) {
		struct pollux_job_state *state =
			pollux_job_state_find(snapshot->jobs[j].id);

		if (state && state->lapse && state->phase == POLLUX_IDLE &&
		    !snapshot->jobs[j].bound && _above_least(snapshot, j) > 0 &&
		    !pollux_left_alone(state, true, now_s))
			_ask(snapshot, j, state, params);
	}
}
