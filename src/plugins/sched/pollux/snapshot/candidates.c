/* SPDX-License-Identifier: GPL-2.0-or-later */
/* candidates.c - is a job one that waits, and that a look may have? */

#include "sched/pollux/snapshot/candidates.h"
#include "sched/pollux/snapshot/moldable_jobs.h"
#include "sched/pollux/snapshot/queue_reason.h"

bool pollux_is_waiting(const job_record_t *job, time_t now)
{
	return pollux_waits_for_nodes(job, now) ||
	       pollux_waits_for_limit(job, now) ||
	       pollux_moldable_waits(job, now);
}

bool pollux_takes_jobs(const part_record_t *part)
{
	return part->node_bitmap && part->state_up & PARTITION_SCHED;
}

static int _is(void *part, void *key)
{
	return part == key;
}

/* Only the job's own pointers are followed: the partition may be gone. */
static bool _may_start_in(const job_record_t *job, const void *wanted)
{
	const part_record_t *part = job->part_ptr;

	if (job->part_ptr_list)
		part = list_find_first(job->part_ptr_list, _is,
				       (void *) wanted);
	return part && part == wanted && pollux_takes_jobs(part);
}

int pollux_candidates_keep(struct plx_backlog_entry *chosen, int count,
			   time_t now)
{
	int kept = 0;

	for (int i = 0; i < count; i++) {
		const job_record_t *job = find_job_record(chosen[i].id);

		if (!job || !IS_JOB_PENDING(job) ||
		    !pollux_is_waiting(job, now) ||
		    !_may_start_in(job, chosen[i].partition))
			continue;
		chosen[kept] = chosen[i];
		chosen[kept++].job = job;
	}
	return kept;
}
