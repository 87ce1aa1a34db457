/* SPDX-License-Identifier: GPL-2.0-or-later */
/* acct_messages.h - messages for slurmdbd, through Slurm's own queue */
#ifndef SCHED_POLLUX_ACCT_MESSAGES_H
#define SCHED_POLLUX_ACCT_MESSAGES_H

#include "common/slurm_compat.h"

/* What of a row differs between a job's shapes. Owns the texts. */
struct pollux_row {
	time_t submit; /* with the job's id the key of the row */
	time_t start;
	time_t eligible;
	char *nodes;
	char *tres_alloc;
	char *tres_req;
	uint32_t node_count;
	uint32_t cpus;
	uint32_t priority;
	uint64_t memory;
};

/* The key of the job's present row. */
time_t pollux_row_key(const job_record_t *job);
/* It has begun: that of a job that waits, and has not just run, has not. */
bool pollux_row_has_begun(const job_record_t *job);
/*
 * Has it ended? So it has of a job that is put back into the queue, but its
 * record knows it until its nodes have done with it.
 */
bool pollux_row_is_over(const job_record_t *job);
/* Slurm may have counted anew what an ended job has: not even a node. */
bool pollux_row_knows_tres(const job_record_t *job);
/* Has slurmdbd given that row a number that slurmctld knows? */
bool pollux_row_numbered(const job_record_t *job);

void pollux_row_read(const job_record_t *job, struct pollux_row *row);
void pollux_row_free(struct pollux_row *row);

/* Another when an update of the job made Slurm tell of its row again. */
uint64_t pollux_row_fingerprint(const job_record_t *job);

/*
 * The row begins, or is as it was told before: telling twice does no harm.
 * Returns at once. Under locks on jobs and partitions.
 */
void pollux_report_start(const job_record_t *job, const struct pollux_row *row);

/* The numbered row ended at that time, by a resize. */
void pollux_report_end(const job_record_t *job, uint64_t number, time_t end,
		       const char *tres_alloc);

/* The numbered row ended at that time, as the other one is said to have. */
void pollux_report_end_as(const job_record_t *job, uint64_t number, time_t end,
			  const slurmdb_job_rec_t *other);

#endif
