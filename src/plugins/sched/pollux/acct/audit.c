/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * audit.c - what is in the data base, against the job record
 *
 * A slurmctld that was killed may have lost messages, and go on with a record
 * that is older than the last resize. Then rows are left that nobody would
 * close, or one is closed that the job still has.
 */

#include "sched/pollux/acct/book.h"
#include "sched/pollux/held.h"

/* A row may begin so much later than now. */
#define AHEAD_S 5

slurmdb_job_rec_t *pollux_audit_find(List rows, uint32_t job_id, time_t key)
{
	ListIterator iter = list_iterator_create(rows);
	slurmdb_job_rec_t *row = NULL;

	while ((row = list_next(iter))) {
		if (row->jobid == job_id && row->submit == key)
			break;
	}
	list_iterator_destroy(iter);
	return row;
}

/* End those that were begun before `end` and are open, but for the one. */
static void _close(const job_record_t *job, List rows, time_t but, time_t end)
{
	ListIterator iter = list_iterator_create(rows);
	slurmdb_job_rec_t *row = NULL;

	while ((row = list_next(iter))) {
		if (row->jobid != job->job_id || row->end || !row->start ||
		    row->submit == but || row->submit > end)
			continue;
		pollux_info("sched/pollux: JobId=%u: its row from %ld was left "
			    "open in accounting, it ends at %ld",
			    job->job_id, (long) row->start, (long) end);
		row->end = MAX(end, row->start);
		pollux_tell_end(job, row->db_index, row->end,
				row->tres_alloc_str);
	}
	list_iterator_destroy(iter);
}

/* Not of rows from before the clock was set back. */
static time_t _newest(List rows, uint32_t job_id)
{
	time_t latest = time(NULL) + AHEAD_S;
	ListIterator iter = list_iterator_create(rows);
	slurmdb_job_rec_t *row = NULL;
	time_t newest = 0;

	while ((row = list_next(iter))) {
		if (row->jobid == job_id && row->submit <= latest)
			newest = MAX(newest, row->submit);
	}
	list_iterator_destroy(iter);
	return newest;
}

/* A shape that the record has forgotten: what it has begins anew, now. */
static void _begin_again(job_record_t *job, struct pollux_account *account,
			 List rows, time_t newest)
{
	time_t now = MAX(time(NULL), newest + 1);
	struct pollux_row row;

	pollux_info("sched/pollux: JobId=%u: slurmctld lost its resize at %ld; "
		    "a new row begins at %ld in accounting",
		    job->job_id, (long) newest, (long) now);
	_close(job, rows, newest, newest);
	_close(job, rows, 0, now);
	job->resize_time = now;
	job->db_index = 0;
	last_job_update = time(NULL);
	pollux_row_read(job, &row);
	pollux_tell_start(job, &row);
	pollux_row_free(&row);
	account->key = now;
	account->numbered = false;
}

/*
 * A job that waits has run, as its row says, but slurmctld was killed before it
 * had saved that: shapes of that run end now, and its first row has not begun.
 */
static void _forget_run(const job_record_t *job, List rows)
{
	time_t submit = job->details->submit_time;
	slurmdb_job_rec_t *first = pollux_audit_find(rows, job->job_id, submit);
	struct pollux_row row;

	_close(job, rows, submit, time(NULL));
	if (!first || !first->start)
		return;
	pollux_info("sched/pollux: JobId=%u: slurmctld lost its start at %ld",
		    job->job_id, (long) first->start);
	pollux_row_read(job, &row);
	row.start = 0; /* or when it may start */
	pollux_tell_start(job, &row);
	pollux_row_free(&row);
}

void pollux_audit_over(const job_record_t *job, List rows)
{
	time_t submit = job->details->submit_time;
	struct pollux_row row;

	_close(job, rows, submit, submit);
	if (!IS_JOB_FINISHED(job)) {
		_forget_run(job, rows);
		return;
	}
	pollux_row_read(job, &row);
	_close(job, rows, row.submit, row.start);
	pollux_row_free(&row);
}

/* What the slurmctld before knew of the job's first shape, it took along. */
static void _learn_first(const job_record_t *job,
			 struct pollux_account *account, List rows)
{
	time_t submit = job->details->submit_time;
	const slurmdb_job_rec_t *row =
		pollux_audit_find(rows, job->job_id, submit);

	if (!row || account->first.submit || pollux_row_key(job) == submit)
		return;
	account->first = (struct pollux_row){
		.submit = submit,
		.start = row->start,
		.eligible = row->eligible,
		.nodes = xstrdup(row->nodes),
		.tres_alloc = xstrdup(row->tres_alloc_str),
		.tres_req = xstrdup(row->tres_req_str),
		.node_count = row->alloc_nodes,
		.cpus = row->req_cpus,
		.priority = row->priority,
		.memory = row->req_mem,
	};
}

void pollux_audit(job_record_t *job, struct pollux_account *account, List rows)
{
	time_t key = pollux_row_key(job);
	time_t submit = job->details->submit_time;
	time_t newest = _newest(rows, job->job_id);
	slurmdb_job_rec_t *present = pollux_audit_find(rows, job->job_id, key);
	struct pollux_row row;

	_learn_first(job, account, rows);
	_close(job, rows, submit, submit); /* from before it was requeued */
	if (newest > key) {
		_begin_again(job, account, rows, newest);
		return;
	}
	pollux_row_read(job, &row);
	if (!present || present->start != row.start)
		pollux_tell_start(job, &row);
	_close(job, rows, key, row.start);
	pollux_row_free(&row);
}
