/* SPDX-License-Identifier: GPL-2.0-or-later */
/* book.h - one entry a job whose rows are looked after (acct.h) */
#ifndef SCHED_POLLUX_BOOK_H
#define SCHED_POLLUX_BOOK_H

#include "common/slurm_compat.h"
#include "sched/pollux/acct/tell.h"

struct pollux_account {
	uint32_t job_id;
	time_t submit; /* of this life of the job */
	time_t key;    /* of its present row */
	bool numbered; /* slurmctld knows that row's number */
	bool audit;    /* compare all its rows with the record */
	struct pollux_row
		first; /* before its first resize; submit 0: unknown */
};

/*
 * The rows of one job, as slurmdbd has them, against its record; `rows` is a
 * list of slurmdb_job_rec_t *, of other jobs as well. What is wrong is put
 * right. WRITE lock on jobs, READ on partitions.
 */
void pollux_audit(job_record_t *job, struct pollux_account *account, List rows);

/* The row with that key; NULL when there is none. */
slurmdb_job_rec_t *pollux_audit_find(List rows, uint32_t job_id, time_t key);

#endif
