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
			    "open "
			    "in accounting, it ends at %ld",
			    job->job_id, (long) row->start, (long) end);
		pollux_tell_end(job, row->db_index, MAX(end, row->start),
				row->tres_alloc_str);
	}
	list_iterator_destroy(iter);
}

static time_t _newest(List rows, uint32_t job_id)
{
	ListIterator iter = list_iterator_create(rows);
	slurmdb_job_rec_t *row = NULL;
	time_t newest = 0;

	while ((row = list_next(iter))) {
		if (row->jobid == job_id)
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
		    "a new "
		    "row begins in accounting",
		    job->job_id, (long) newest);
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

void pollux_audit(job_record_t *job, struct pollux_account *account, List rows)
{
	time_t key = pollux_row_key(job);
	time_t newest = _newest(rows, job->job_id);
	slurmdb_job_rec_t *present = pollux_audit_find(rows, job->job_id, key);
	struct pollux_row row;

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
