/* SPDX-License-Identifier: GPL-2.0-or-later */
/* claims.c - what jobs say of themselves, held against what is seen */

#include "common/slurm_compat.h"
#include "core/problem/problem.h"
#include "sched/pollux/plan/claims.h"
#include "sched/pollux/monotonic.h"

static void _tell(const struct pollux_job_state *state)
{
	const struct plx_validation *validation = &state->validation;

	if (validation->strikes == PLX_STRIKES_NONE)
		info("sched/pollux: JobId=%u: what it says of itself is "
		     "believed again",
		     state->job_id);
	else
		info("sched/pollux: JobId=%u: what it says of itself is %s: %s",
		     state->job_id,
		     validation->strikes == PLX_STRIKES_ONE ? "doubted"
							    : "not believed",
		     validation->why);
}

void pollux_claims_break(struct pollux_job_state *state, const char *why)
{
	if (plx_validation_strike(&state->validation, pollux_now_s(), why))
		_tell(state);
}

void pollux_claims_hear(const struct pollux_snapshot *snapshot, int j,
			struct pollux_job_state *state)
{
	const struct pollux_job *job = &snapshot->jobs[j];
	struct plx_claim claim = {
		.now_s = pollux_now_s(),
		.shape = plx_shape_on(job->gpus, snapshot->node_count,
				      snapshot->switches),
		.shape_s = (double) (snapshot->now - job->since),
		.runs = job->runs,
		.resized = state->phase != POLLUX_IDLE,
		.training = job->status.phase == PLX_PHASE_TRAINING,
		.hint = &job->status.hint,
	};

	/* What is left of other GPUs says nothing of these. */
	if (job->status.has_hint && !job->unlike_model &&
	    plx_validation_check(&state->validation, &claim))
		_tell(state);
}
