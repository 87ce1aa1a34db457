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

uint64_t pollux_priority(const job_record_t *job, const part_record_t *part)
{
	return (uint64_t) part->priority_tier << 32 | job->priority;
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

/* A job array's id may be met twice, when a task of it is split off. */
static bool _is_kept(const struct plx_backlog_entry *kept, int count,
		     const struct plx_backlog_entry *entry)
{
	for (int i = 0; i < count; i++) {
		if (kept[i].id == entry->id &&
		    kept[i].partition == entry->partition)
			return true;
	}
	return false;
}

static void _read(const job_record_t *job, struct plx_backlog_entry *entry)
{
	entry->job = job;
	entry->priority = pollux_priority(job, entry->partition);
	entry->user = job->user_id;
	entry->assoc = job->assoc_id;
}

/* Highest priority first, of equals the lowest id. */
static bool _is_before(const struct plx_backlog_entry *a,
		       const struct plx_backlog_entry *b)
{
	if (a->priority != b->priority)
		return a->priority > b->priority;
	return a->id < b->id;
}

/* To where it belongs among those that are kept: mostly at their end. */
static void _insert(struct plx_backlog_entry *kept, int count,
		    const struct plx_backlog_entry *entry)
{
	int at = count;

	for (; at > 0 && _is_before(entry, &kept[at - 1]); at--)
		kept[at] = kept[at - 1];
	kept[at] = *entry;
}

int pollux_candidates_keep(struct plx_backlog_entry *chosen, int count,
			   time_t now)
{
	int kept = 0;

	for (int i = 0; i < count; i++) {
		struct plx_backlog_entry entry = chosen[i];
		const job_record_t *job = find_job_record(entry.id);

		if (!job || !IS_JOB_PENDING(job) ||
		    !pollux_is_waiting(job, now) ||
		    !_may_start_in(job, entry.partition) ||
		    _is_kept(chosen, kept, &entry))
			continue;
		_read(job, &entry);
		_insert(chosen, kept++, &entry);
	}
	return kept;
}
