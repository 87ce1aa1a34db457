/* SPDX-License-Identifier: GPL-2.0-or-later */
/* row_queue.h - one entry a job whose rows are looked after (acct.h) */
#ifndef SCHED_POLLUX_ROW_QUEUE_H
#define SCHED_POLLUX_ROW_QUEUE_H

#include "common/slurm_compat.h"
#include "sched/pollux/acct/acct_messages.h"

struct pollux_account {
	uint32_t job_id;
	time_t submit; /* of this life of the job */
	time_t key;    /* of its present row */
	bool numbered; /* slurmctld knows that row's number */
	bool audit;    /* compare all its rows with the record */
	bool asked;    /* its rows are in the question that is on its way */
	bool look;     /* and they will be as slurmdbd was told */
	bool ended;    /* the job has, and its last row was told as it is */
	bool shared;   /* this life has the key of the last row before it */
	time_t over;   /* when slurmctld was started, a life was, by then */
	time_t past;   /* rows since then are to be looked at; 0: none */
	double past_s; /* since when; monotonic clock */
	struct pollux_row
		first;		/* before its first resize; submit 0: unknown */
	struct pollux_row last; /* present one of a resized job, as first */
	uint64_t fingerprint; /* of what Slurm tells of it, see acct_messages.h
			       */
};

/* The row of its present shape is read, or forgotten if it was not resized. */
void pollux_account_keep(const job_record_t *job,
			 struct pollux_account *account);
/* The same; Slurm itself may have given the job another since. */
void pollux_account_keep_up(const job_record_t *job,
			    struct pollux_account *account);
/* It ends: it is told again as it is. */
void pollux_account_end_row(const job_record_t *job,
			    struct pollux_account *account);
/* Was it updated since this was asked, and has been resized before? */
bool pollux_account_changed(const job_record_t *job,
			    struct pollux_account *account);
/* The same as at its end for a running job, if it was updated meanwhile. */
void pollux_account_mend(const job_record_t *job,
			 struct pollux_account *account);
/* What was to be told of a life of the job that is over. */
void pollux_account_end_life(const job_record_t *job,
			     struct pollux_account *account);
/*
 * Slurm does not tell again what the job had, if it has ended: it may have
 * forgotten. WRITE lock on jobs.
 */
void pollux_account_tell_once(job_record_t *job);
/* The number that the job has may be that of another of its rows. */
bool pollux_account_uncertain(const struct pollux_account *account,
			      const job_record_t *job);
/*
 * It was: Slurm has told of the first row, as an update came before the present
 * one had a number, or had asked for that of the first one when a node was
 * lost. Both rows are told again.
 */
void pollux_account_part(job_record_t *job,
			 const struct pollux_account *account, uint64_t number,
			 List rows);

/*
 * The rows of one job, as slurmdbd has them, against its record; `rows` is a
 * list of slurmdb_job_rec_t *, of other jobs as well. What is wrong is put
 * right. WRITE lock on jobs, READ on partitions.
 */
void pollux_audit(job_record_t *job, struct pollux_account *account, List rows);

/*
 * The same when the job has ended or waits: rows of what is over are closed.
 * A job may wait because slurmctld was killed before it had saved its start.
 */
void pollux_audit_over(job_record_t *job, struct pollux_account *account,
		       List rows);

/*
 * Rows of what is over: each ends when the next one begins, or the job did, and
 * if it began before `over` (0: unknown) by then.
 */
void pollux_audit_past(job_record_t *job, time_t over, List rows);

/* The row with that key; NULL when there is none. */
slurmdb_job_rec_t *pollux_audit_find(List rows, uint32_t job_id, time_t key);

#endif
