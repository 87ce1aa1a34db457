/* SPDX-License-Identifier: GPL-2.0-or-later */
/* evict.c - a whole job gives up its place and waits in the queue */

#include <stdio.h>

#include "sched/pollux/record.h"
#include "sched/pollux/resize/extend.h"
#include "sched/pollux/start/evict.h"
#include "sched/pollux/start/requeue.h"
#include "sched/pollux/report/count.h"
#include "sched/pollux/locks.h"

void pollux_evict(job_record_t *job, struct pollux_job_state *state)
{
	struct plx_target waits = { .state = PLX_TARGET_NONE,
				    .rounds = state->target.rounds,
				    .mark = state->target.mark };

	snprintf(waits.why, sizeof(waits.why), "%s", state->target.why);
	state->phase = POLLUX_IDLE;
	pollux_requeue_let(job);
	pollux_record_publish(job, &waits);
	pollux_extend_forget(state);
	state->target = waits;
	pollux_save_jobs();
	pollux_count(POLLUX_DID_EVICT);
	pollux_info("sched/pollux: JobId=%u waits in the queue: %s",
		    job->job_id, waits.why);
}
