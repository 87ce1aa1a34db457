/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * audit.c - what is in the data base, against the job record
 *
 * A slurmctld that was killed may have lost messages, and go on with a record
 * that is older than the last resize. Then rows are left that nobody would
 * close, or one is closed that the job still has.
 */

#include "sched/pollux/acct/row_queue.h"
#include "sched/pollux/locks.h"

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

/* One that was cancelled while it waited has a start that is none. */
static bool _has_begun(const slurmdb_job_rec_t *row)
{
	return row->start && row->start != NO_VAL;
}

/*
 * It has begun, and nobody has told its end. A run of less than a second may
 * have left one before the row's start (docs/decisions/0018).
 */
static bool _is_open(const slurmdb_job_rec_t *row)
{
	return _has_begun(row) && (!row->end || row->end < row->start);
}

/* The earlier one of `end` (0: none) and `begin`, if that is after the row. */
static time_t _earlier(time_t end, time_t begin, const slurmdb_job_rec_t *row)
{
	/* A run that was lost left rows between the first one and its start. */
	if (begin <= row->submit || begin < row->start)
		return end;
	return end ? MIN(end, begin) : begin;
}

/*
 * When the row of its job after that one begins, as slurmdbd or the record
 * knows it: by then it has ended. 0: it is the last one.
 */
static time_t _next(const job_record_t *job, List rows,
		    const slurmdb_job_rec_t *row)
{
	/* Not those from before the clock was set back. */
	time_t latest = time(NULL) + AHEAD_S;
	ListIterator iter = list_iterator_create(rows);
	const slurmdb_job_rec_t *other = NULL;
	time_t next = _earlier(0, job->details->submit_time, row);

	if (!IS_JOB_PENDING(job))
		next = _earlier(next, pollux_row_key(job), row);
	while ((other = list_next(iter))) {
		if (other->jobid != job->job_id || other->submit > latest)
			continue;
		next = _earlier(next, other->submit, row);
		/* A row of a job that was forgotten, and had its number. */
		if (other != row && other->start > other->submit)
			next = _earlier(next, other->start, row);
	}
	list_iterator_destroy(iter);
	return next;
}

static void _end_at(const job_record_t *job, slurmdb_job_rec_t *row, time_t end)
{
	const char *was = _is_open(row) ? "was left open" : "ended too late";

	row->end = MAX(end, row->start);
	pollux_info("sched/pollux: JobId=%u: its row from %ld %s in "
		    "accounting, it ends at %ld",
		    job->job_id, (long) row->start, was, (long) row->end);
	pollux_report_end(job, row->db_index, row->end, row->tres_alloc_str);
}

static struct pollux_row _copy(const slurmdb_job_rec_t *row)
{
	return (struct pollux_row){
		.submit = row->submit,
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

/*
 * An update of the job moved it to the start of the job, and slurmctld was
 * killed before that was put right.
 */
static void _begin_late(const job_record_t *job, slurmdb_job_rec_t *row)
{
	struct pollux_row late = _copy(row);

	pollux_info("sched/pollux: JobId=%u: its row from %ld begins at %ld in "
		    "accounting",
		    job->job_id, (long) row->start, (long) row->submit);
	late.start = late.eligible = row->start = row->submit;
	pollux_report_start(job, &late);
	pollux_row_free(&late);
}

/*
 * A node was lost while Slurm asked for the number of the job's first row: it
 * took that for the next one's number, and told two ends of the wrong rows. The
 * next one has the end and the GPUs of the first, which has its own
 * (docs/decisions/0171).
 */
static void _exchange_ends(const job_record_t *job, slurmdb_job_rec_t *row,
			   List rows, time_t next)
{
	slurmdb_job_rec_t *other = pollux_audit_find(rows, job->job_id, next);
	time_t end = row->end, limit = 0;
	char *tres = other ? other->tres_alloc_str : NULL;

	if (!other || other->start != next || other->end != next ||
	    other->state != JOB_RESIZING)
		return;
	limit = _next(job, rows, other);
	if (limit)
		end = MIN(end, limit);
	pollux_info("sched/pollux: JobId=%u: its row from %ld ends at %ld in "
		    "accounting, as the one before was said to",
		    job->job_id, (long) next, (long) end);
	pollux_report_end_as(job, other->db_index, end, row);
	other->end = end;
	other->state = row->state;
	other->tres_alloc_str = row->tres_alloc_str;
	row->tres_alloc_str = tres;
}

/*
 * Of a row that Slurm told only the end of, slurmdbd does not know since when
 * it was eligible, and sacct -S does not show it. Slurm forgets the same of a
 * running job that is held.
 */
static void _show(const job_record_t *job, slurmdb_job_rec_t *row)
{
	struct pollux_row shown = _copy(row);

	pollux_info("sched/pollux: JobId=%u: its row from %ld was hidden in "
		    "accounting",
		    job->job_id, (long) row->start);
	shown.eligible = row->eligible = row->start;
	pollux_report_start(job, &shown);
	pollux_row_free(&shown);
}

/* Or of a job that was forgotten, and had its number. */
static bool _is_its_own(const job_record_t *job, const slurmdb_job_rec_t *row)
{
	return !row->uid || row->uid == job->user_id;
}

/*
 * Each row of the job ends by the time at which the next one begins, and what
 * began before `over` (0: unknown) by then.
 */
static void _straighten(const job_record_t *job, List rows, time_t over)
{
	ListIterator iter = list_iterator_create(rows);
	slurmdb_job_rec_t *row = NULL;
	time_t next = 0;

	while ((row = list_next(iter))) {
		if (row->jobid != job->job_id || !_has_begun(row))
			continue;
		if (row->start < row->submit)
			_begin_late(job, row);
		if (!row->eligible && _is_its_own(job, row))
			_show(job, row);
		next = _next(job, rows, row);
		if (row->start < over)
			next = next ? MIN(next, over) : over;
		if (!next || (!_is_open(row) && row->end <= next))
			continue;
		if (!_is_open(row))
			_exchange_ends(job, row, rows, next);
		_end_at(job, row, next);
	}
	list_iterator_destroy(iter);
}

/* End what is open, but for the one. */
static void _close(const job_record_t *job, List rows, time_t but, time_t end)
{
	ListIterator iter = list_iterator_create(rows);
	slurmdb_job_rec_t *row = NULL;

	while ((row = list_next(iter))) {
		if (row->jobid == job->job_id && _is_open(row) &&
		    row->submit != but && row->submit <= end)
			_end_at(job, row, end);
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
	_close(job, rows, 0, now);
	job->resize_time = now;
	job->db_index = 0;
	last_job_update = time(NULL);
	pollux_row_read(job, &row);
	pollux_report_start(job, &row);
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
	if (!first || !_has_begun(first))
		return;
	pollux_info("sched/pollux: JobId=%u: slurmctld lost its start at %ld",
		    job->job_id, (long) first->start);
	pollux_row_read(job, &row);
	row.start = 0; /* or when it may start */
	pollux_report_start(job, &row);
	pollux_row_free(&row);
}

/*
 * Slurm has ended the row in the record. If slurmctld came back with an older
 * record than that of the last row, that one is open.
 */
static void _end_last(job_record_t *job, List rows)
{
	time_t newest = _newest(rows, job->job_id);
	slurmdb_job_rec_t *last = pollux_audit_find(rows, job->job_id, newest);
	job_record_t copy = *job;

	if (!last || !_is_open(last) || !job->end_time)
		return;
	pollux_info("sched/pollux: JobId=%u: its last row, from %ld, was left "
		    "open in accounting, it ends at %ld",
		    job->job_id, (long) last->start,
		    (long) MAX(job->end_time, last->start));
	copy.db_index = last->db_index;
	copy.end_time = MAX(job->end_time, last->start);
	copy.tres_alloc_str = last->tres_alloc_str;
	(void) jobacct_storage_g_job_complete(acct_db_conn, &copy);
}

/*
 * Put into the queue in the second in which its last row began, a job has that
 * row's key. Cancelled before it starts, Slurm ended that row once more.
 */
static void _end_unstarted(job_record_t *job, List rows)
{
	time_t submit = job->details->submit_time;
	slurmdb_job_rec_t *row = pollux_audit_find(rows, job->job_id, submit);
	job_record_t copy = *job;

	if (job->start_time < job->end_time || !row || !_has_begun(row) ||
	    row->start >= job->start_time || row->end <= row->start)
		return;
	pollux_info("sched/pollux: JobId=%u did not start again: its row from "
		    "%ld has ended at once, not at %ld",
		    job->job_id, (long) row->start, (long) row->end);
	copy.db_index = row->db_index;
	copy.end_time = row->start;
	copy.tres_alloc_str = row->tres_alloc_str;
	(void) jobacct_storage_g_job_complete(acct_db_conn, &copy);
}

/*
 * The start of its last row was lost with a slurmctld that was killed, and the
 * job ended before rows were compared. Slurm tells of an end by the number of a
 * row alone, or makes one that has nothing but that.
 */
static void _report_lost(const job_record_t *job, List rows)
{
	slurmdb_job_rec_t *known = NULL;
	job_record_t copy = *job;
	struct pollux_row row;

	pollux_row_read(job, &row);
	known = pollux_audit_find(rows, job->job_id, row.submit);
	if (!row.nodes || !row.start || row.start >= job->end_time ||
	    (known && _has_begun(known) && known->eligible))
		goto done;
	pollux_info("sched/pollux: JobId=%u: its last row, from %ld to %ld, "
		    "was lost in accounting and is told again",
		    job->job_id, (long) row.start, (long) job->end_time);
	pollux_report_start(job, &row);
	copy.db_index = known ? known->db_index : 0;
	if (row.submit == job->details->submit_time)
		copy.resize_time = 0;
	if (IS_JOB_PENDING(job))
		copy.job_state = JOB_REQUEUE;
	(void) jobacct_storage_g_job_complete(acct_db_conn, &copy);
	if (known) {
		known->start = row.start;
		known->eligible = row.eligible;
		known->end = job->end_time;
	}
done:
	pollux_row_free(&row);
}

void pollux_audit_past(job_record_t *job, time_t over, List rows)
{
	if (pollux_row_is_over(job))
		_report_lost(job, rows);
	_straighten(job, rows, over);
	if (IS_JOB_FINISHED(job)) {
		_end_last(job, rows);
		_end_unstarted(job, rows);
	}
}

/* What the slurmctld before knew of the job's first shape, it took along. */
static void _learn_first(const job_record_t *job,
			 struct pollux_account *account, List rows)
{
	time_t submit = job->details->submit_time;
	const slurmdb_job_rec_t *row =
		pollux_audit_find(rows, job->job_id, submit);

	if (row && !account->first.submit && pollux_row_key(job) != submit)
		account->first = _copy(row);
}

void pollux_audit_over(job_record_t *job, struct pollux_account *account,
		       List rows)
{
	if (pollux_row_is_over(job))
		_learn_first(job, account, rows);
	pollux_audit_past(job, account->over, rows);
	/* On its way into the queue it has run, and its record knows it. */
	if (!IS_JOB_FINISHED(job) && !IS_JOB_COMPLETING(job))
		_forget_run(job, rows);
}

void pollux_audit(job_record_t *job, struct pollux_account *account, List rows)
{
	time_t key = pollux_row_key(job);
	time_t newest = _newest(rows, job->job_id);
	slurmdb_job_rec_t *present = pollux_audit_find(rows, job->job_id, key);
	struct pollux_row row;

	_learn_first(job, account, rows);
	_straighten(job, rows, account->over);
	if (newest > key && newest >= job->start_time) {
		_begin_again(job, account, rows, newest);
		return;
	}
	/* Slurm may have taken another row's (docs/decisions/0171). */
	if (present && pollux_row_numbered(job))
		job->db_index = present->db_index;
	pollux_row_read(job, &row);
	if (!present || present->start != row.start)
		pollux_report_start(job, &row);
	pollux_row_free(&row);
}
