/* SPDX-License-Identifier: GPL-2.0-or-later */
/* announce.c - what a job's record says of its target, and how it is refused */

#include <stdio.h>

#include "sched/pollux/locks.h"
#include "sched/pollux/monotonic.h"
#include "sched/pollux/record.h"
#include "sched/pollux/resize/announce.h"
#include "sched/pollux/report/count.h"

/* A job that was refused is left alone, longer each time. */
#define STILL_S	    15
#define STILL_STEPS 5

void pollux_announce(job_record_t *job, struct pollux_job_state *state,
		     enum plx_target_state to, const char *why)
{
	state->target.state = to;
	if (why)
		snprintf(state->target.why, sizeof(state->target.why), "%.*s",
			 (int) sizeof(state->target.why) - 1, why);
	pollux_record_publish(job, &state->target);
	last_job_update = time(NULL);
	pollux_save_jobs();
}

double pollux_alone_s(const struct pollux_job_state *state)
{
	return STILL_S * (1 << MIN(state->refusals, STILL_STEPS));
}

void pollux_leave_alone(const job_record_t *job, struct pollux_job_state *state,
			const struct plx_error *why)
{
	double alone_s = pollux_alone_s(state);

	state->refusals++;
	snprintf(state->refused, sizeof(state->refused), "%.*s",
		 (int) sizeof(state->refused) - 1, why->text);
	pollux_count_refusal(why->kind);
	state->still_until_s = pollux_now_s() + alone_s;
	pollux_info("sched/pollux: JobId=%u keeps its %d GPUs: %s", job->job_id,
		    pollux_record_gpu_count(job), why->text);
}

bool pollux_left_alone(const struct pollux_job_state *state, bool urgent,
		       double now_s)
{
	double until_s = state->still_until_s;
	int steps = MIN(state->refusals - 1, STILL_STEPS);

	if (urgent && steps > 0)
		until_s -= STILL_S * ((1 << steps) - 1);
	return now_s < until_s;
}

void pollux_refuse(job_record_t *job, struct pollux_job_state *state,
		   const struct plx_error *why)
{
	state->phase = POLLUX_IDLE;
	pollux_announce(job, state, PLX_TARGET_REFUSED, why->text);
	pollux_leave_alone(job, state, why);
}
