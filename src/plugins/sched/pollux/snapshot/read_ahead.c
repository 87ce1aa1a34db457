/* SPDX-License-Identifier: GPL-2.0-or-later */
/* read_ahead.c - what is read of jobs before a look, some jobs at a time */

#include "sched/pollux/job_options.h"
#include "sched/pollux/locks.h"
#include "sched/pollux/snapshot/moldable_jobs.h"
#include "sched/pollux/snapshot/read_ahead.h"
#include "sched/pollux/snapshot/snapshot_fill.h"
#include "sched/pollux/snapshot/comment_cache.h"
#include "sched/pollux/start/requeue.h"

/* Jobs between two looks at the clock. */
#define PIECE 16

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

void pollux_read_ahead(struct pollux_snapshot *snapshot,
		       struct plx_backlog *backlog)
{
	ListIterator iter = NULL;
	const job_record_t *record = NULL;
	int jobs = 0;

	pollux_lock(POLLUX_AHEAD);
	/* Slurm's lists tell their iterators of what is taken out of them. */
	iter = list_iterator_create(job_list);
	for (int i = 1; (record = list_next(iter)); i++) {
		if (IS_JOB_PENDING(record) && backlog) {
			_see_pending(record, snapshot, NULL, backlog);
		} else if (_has_texts(record)) {
			pollux_texts_note(record);
			jobs++;
		}
		if (i % PIECE == 0)
			pollux_lock_yield(POLLUX_AHEAD);
	}
	list_iterator_destroy(iter);
	pollux_unlock(POLLUX_AHEAD);
	pollux_texts_parse();
	pollux_snapshot_expect(snapshot, jobs);
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
