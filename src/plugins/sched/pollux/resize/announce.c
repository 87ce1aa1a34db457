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

void pollux_announce(job_record_t *job, struct pollux_track *track,
		     enum plx_target_state state, const char *why)
{
	track->target.state = state;
	if (why)
		snprintf(track->target.why, sizeof(track->target.why), "%.*s",
			 (int) sizeof(track->target.why) - 1, why);
	pollux_record_publish(job, &track->target);
	last_job_update = time(NULL);
	schedule_job_save();
}

double pollux_alone_s(const struct pollux_track *track)
{
	return STILL_S * (1 << MIN(track->refusals, STILL_STEPS));
}

void pollux_leave_alone(const job_record_t *job, struct pollux_track *track,
			const struct plx_error *why)
{
	double alone_s = pollux_alone_s(track);

	track->refusals++;
	snprintf(track->refused, sizeof(track->refused), "%.*s",
		 (int) sizeof(track->refused) - 1, why->text);
	pollux_count_refusal(why->kind);
	track->still_until_s = pollux_now_s() + alone_s;
	pollux_info("sched/pollux: JobId=%u keeps its %d GPUs: %s", job->job_id,
		    pollux_record_gpu_count(job), why->text);
}

bool pollux_left_alone(const struct pollux_track *track, bool urgent,
		       double now_s)
{
	double until_s = track->still_until_s;
	int steps = MIN(track->refusals - 1, STILL_STEPS);

	if (urgent && steps > 0)
		until_s -= STILL_S * ((1 << steps) - 1);
	return now_s < until_s;
}

void pollux_refuse(job_record_t *job, struct pollux_track *track,
		   const struct plx_error *why)
{
	track->phase = POLLUX_IDLE;
	pollux_announce(job, track, PLX_TARGET_REFUSED, why->text);
	pollux_leave_alone(job, track, why);
}
