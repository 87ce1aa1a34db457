/* SPDX-License-Identifier: GPL-2.0-or-later */
/* stays.c - what jobs hold that are not elastic, and until when */

#include "sched/pollux/look/stays.h"
#include "sched/pollux/record.h"

#define FOREVER_S (365.0 * 86400)

double pollux_ends_s(const job_record_t *job, time_t now)
{
	if (job->time_limit == INFINITE || !job->end_time)
		return FOREVER_S;
	return job->end_time > now ? (double) (job->end_time - now) : 0;
}

bool pollux_stays(const job_record_t *job)
{
	return (IS_JOB_RUNNING(job) || IS_JOB_SUSPENDED(job)) &&
	       job->job_resrcs && job->job_resrcs->node_bitmap &&
	       job->job_resrcs->cpus && job->node_bitmap;
}

void pollux_stays_add(const job_record_t *job, int *gpus,
		      struct pollux_view *view)
{
	const job_resources_t *held = job->job_resrcs;
	int offset = 0;

	pollux_record_gpus(job, gpus);
	for (int n = 0; n < view->node_count; n++) {
		if (!bit_test(held->node_bitmap, n))
			continue;
		if (view->stay_count == POLLUX_STAYS_MAX)
			return;
		/* There is memory for a power of two. */
		if (!(view->stay_count & (view->stay_count - 1)))
			xrecalloc(view->stays, MAX(2 * view->stay_count, 1),
				  sizeof(*view->stays));
		view->stays[view->stay_count++] = (struct pollux_stay){
			.node = n,
			.gpus = gpus[n],
			.cpus = held->cpus[offset],
			.memory = held->memory_allocated
					  ? (double) held
						    ->memory_allocated[offset]
					  : 0,
			.ends_s = pollux_ends_s(job, view->now),
		};
		offset++;
	}
}
