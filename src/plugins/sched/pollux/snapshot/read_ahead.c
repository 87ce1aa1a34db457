/* SPDX-License-Identifier: GPL-2.0-or-later */
/* read_ahead.c - what is read of jobs before a look, some jobs at a time */

#include "sched/pollux/job_options.h"
#include "sched/pollux/locks.h"
#include "sched/pollux/monotonic.h"
#include "sched/pollux/snapshot/moldable_jobs.h"
#include "sched/pollux/snapshot/read_ahead.h"
#include "sched/pollux/snapshot/snapshot_fill.h"
#include "sched/pollux/snapshot/comment_cache.h"
#include "sched/pollux/start/requeue.h"

/* Jobs between two looks at the clock. */
#define PIECE 16
/* For all pieces: where others hold the lock all the time, a look reads alone.
 */
#define AHEAD_S 0.05

static void _see_pending(const job_record_t *record,
			 struct pollux_snapshot *snapshot,
			 struct pollux_preempts *preempts,
			 struct plx_backlog *backlog)
{
	if (pollux_requeued(record)) {
		xrecalloc(snapshot->requeued, snapshot->requeued_count + 1,
			  sizeof(*snapshot->requeued));
		snapshot->requeued[snapshot->requeued_count++] = record->job_id;
	}
	pollux_moldable_begins(record, snapshot);
	pollux_waiting_offer(record, snapshot->now, preempts, backlog);
}

static bool _has_texts(const job_record_t *record)
{
	return (IS_JOB_RUNNING(record) || IS_JOB_SUSPENDED(record)) &&
	       pollux_is_elastic(record);
}

static void _forget_pending(struct pollux_snapshot *snapshot)
{
	xfree(snapshot->requeued);
	snapshot->requeued_count = 0;
	snapshot->begins_s = 0;
}

/* How many have texts; -1: it took too long. Under the lock. */
static int _walk(struct pollux_snapshot *snapshot, struct plx_backlog *backlog)
{
	/* Slurm's lists tell their iterators of what is taken out of them. */
	ListIterator iter = list_iterator_create(job_list);
	const job_record_t *record = NULL;
	double until_s = pollux_now_s() + AHEAD_S;
	int jobs = 0;

	for (int i = 1; jobs >= 0 && (record = list_next(iter)); i++) {
		if (IS_JOB_PENDING(record) && backlog) {
			_see_pending(record, snapshot, NULL, backlog);
		} else if (_has_texts(record)) {
			pollux_comment_cache_note(record);
			jobs++;
		}
		if (i % PIECE)
			continue;
		pollux_lock_yield(POLLUX_AHEAD);
		if (pollux_now_s() >= until_s)
			jobs = -1;
	}
	list_iterator_destroy(iter);
	return jobs;
}

int pollux_read_ahead(struct pollux_snapshot *snapshot,
		      struct plx_backlog *backlog)
{
	int jobs = 0;

	pollux_lock(POLLUX_AHEAD);
	jobs = _walk(snapshot, backlog);
	pollux_unlock(POLLUX_AHEAD);
	pollux_comment_cache_parse();
	pollux_snapshot_expect(snapshot, MAX(jobs, 0));
	if (jobs >= 0)
		return 0;
	_forget_pending(snapshot);
	return -1;
}

void pollux_read_pending(struct pollux_snapshot *snapshot,
			 struct pollux_preempts *preempts,
			 struct plx_backlog *backlog)
{
	ListIterator iter = list_iterator_create(job_list);
	const job_record_t *record = NULL;

	while ((record = list_next(iter))) {
		if (IS_JOB_PENDING(record))
			_see_pending(record, snapshot, preempts, backlog);
	}
	list_iterator_destroy(iter);
}
