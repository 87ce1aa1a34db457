/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * answer.h - rows that slurmdbd has told, by job
 *
 * Thousands of jobs would each look through thousands of rows, under a lock.
 */
#ifndef SCHED_POLLUX_ANSWER_H
#define SCHED_POLLUX_ANSWER_H

#include "common/slurm_compat.h"

/* Borrows the rows of the list that it was made from. */
struct pollux_answer {
	struct answer_row *at; /* NULL: there was no answer */
	int count;
};

/* rows: slurmdb_job_rec_t *, of many jobs; or NULL. No lock is needed. */
struct pollux_answer pollux_answer_sort(List rows);
void pollux_answer_release(struct pollux_answer *answer);

/*
 * The rows of one job, in slurmdbd's order; the list is the caller's to free,
 * what is in it is not. NULL: there was no answer.
 */
List pollux_answer_of(const struct pollux_answer *answer, uint32_t job_id);

#endif
