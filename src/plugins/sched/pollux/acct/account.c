/* SPDX-License-Identifier: GPL-2.0-or-later */
/* account.c - what of a job's rows has to be told again, and when */

#include "sched/pollux/acct/row_queue.h"
#include "sched/pollux/job_options.h"
#include "sched/pollux/locks.h"

/*
 * Requeued before its row had a number, Slurm wrote the last shape into the
 * first row, that of the job's submission.
 */
static void _restore_first(const job_record_t *job,
			   const struct pollux_account *account)
{
	if (account->numbered || account->key == account->submit)
		return;
	if (!account->first.submit) {
		error("sched/pollux: JobId=%u was requeued before its row had "
		      "a number: its first shape is wrong in accounting",
		      job->job_id);
		return;
	}
	pollux_info("sched/pollux: JobId=%u was requeued before its row had a "
		    "number: "
		    "its first shape is told again",
		    job->job_id);
	pollux_report_start(job, &account->first);
}

/*
 * When a running job is updated (priority, limits, name), Slurm tells of it
 * again, and moves the start of its row to that of the job. There is no telling
 * whether it did: so the row is told as it is whenever it ends, after that. Not
 * if the next life has begun in the same second: then it is in the same row.
 */
static void _report_last(const job_record_t *job,
			 const struct pollux_account *account)
{
	if (account->last.submit &&
	    (account->last.submit < job->details->submit_time ||
	     account->submit == job->details->submit_time))
		pollux_report_start(job, &account->last);
}

void pollux_account_keep(const job_record_t *job,
			 struct pollux_account *account)
{
	pollux_row_free(&account->last);
	if (pollux_row_key(job) == job->details->submit_time)
		return;
	pollux_row_read(job, &account->last);
	account->fingerprint = pollux_row_fingerprint(job);
}

/* What was to be told of a life that is over. */
void pollux_account_end_life(const job_record_t *job,
			     struct pollux_account *account)
{
	_restore_first(job, account);
	_report_last(job, account);
	pollux_row_free(&account->first);
	pollux_row_free(&account->last);
}

/*
 * Slurm itself may have taken a node away, even in the row's first second. The
 * row before has ended then, perhaps with the start that an update gave it.
 */
void pollux_account_keep_up(const job_record_t *job,
			    struct pollux_account *account)
{
	time_t key = pollux_row_key(job);

	if (account->last.submit == key &&
	    (!xstrcmp(account->last.tres_alloc, job->tres_alloc_str) ||
	     !pollux_row_knows_tres(job)))
		return;
	if (account->last.submit != key)
		_report_last(job, account);
	pollux_account_keep(job, account);
}

/*
 * A first row is told again as well: Slurm may have told of the job's start
 * before it told that it waits.
 */
void pollux_account_end_row(const job_record_t *job,
			    struct pollux_account *account)
{
	pollux_account_keep_up(job, account);
	if (account->last.submit)
		_report_last(job, account);
	else if (account->first.submit)
		pollux_report_start(job, &account->first);
}

bool pollux_account_changed(const job_record_t *job,
			    struct pollux_account *account)
{
	uint64_t fingerprint = pollux_row_fingerprint(job);
	bool changed =
		account->last.submit && account->fingerprint != fingerprint;

	account->fingerprint = fingerprint;
	return changed;
}

/*
 * A running job's row is right, whatever Slurm told of it meanwhile; as is its
 * first one, which is what Slurm tells of if the present one has no number.
 */
void pollux_account_mend(const job_record_t *job,
			 struct pollux_account *account)
{
	pollux_account_keep_up(job, account);
	if (!pollux_account_changed(job, account))
		return;
	_report_last(job, account);
	if (account->first.submit)
		pollux_report_start(job, &account->first);
}

/*
 * Started while slurmdbd was away, slurmctld counts anew what jobs have when it
 * is back, and finds nothing with those that have ended. The next slurmctld
 * tells all their ends again.
 */
void pollux_account_tell_once(job_record_t *job)
{
	if (IS_JOB_FINISHED(job) && !IS_JOB_COMPLETING(job) &&
	    !(job->bit_flags & TRES_STR_CALC) && pollux_row_numbered(job) &&
	    job->details && pollux_is_elastic(job)) {
		job->bit_flags |= TRES_STR_CALC;
		pollux_save_jobs();
	}
}

/* When the job's first row ended: the next one began then. */
static time_t _first_end(const struct pollux_account *account, List rows)
{
	ListIterator iter = list_iterator_create(rows);
	slurmdb_job_rec_t *row = NULL;
	time_t end = account->key;

	while ((row = list_next(iter))) {
		if (row->jobid == account->job_id &&
		    row->submit > account->submit)
			end = MIN(end, row->submit);
	}
	list_iterator_destroy(iter);
	return end;
}

void pollux_account_part(job_record_t *job,
			 const struct pollux_account *account, uint64_t number,
			 List rows)
{
	uint64_t first = job->db_index;

	pollux_info("sched/pollux: JobId=%u had the number of another of its "
		    "rows: they are told again",
		    job->job_id);
	job->db_index = number;
	if (account->first.submit)
		pollux_report_start(job, &account->first);
	pollux_report_start(job, &account->last);
	if (!IS_JOB_FINISHED(job))
		return;
	/* It has even ended as the first one. */
	pollux_report_end(job, first, _first_end(account, rows),
			  account->first.tres_alloc);
	(void) jobacct_storage_g_job_complete(acct_db_conn, job);
}

bool pollux_account_uncertain(const struct pollux_account *account,
			      const job_record_t *job)
{
	return !account->numbered && account->key == pollux_row_key(job) &&
	       account->key != job->details->submit_time;
}
