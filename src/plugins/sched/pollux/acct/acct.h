/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * acct.h - what accounting is told of a job's shapes, waiting for nobody
 *
 * slurmdbd gives each row of a job a number. Slurm waits for the number of a
 * resized job's new row while it holds its locks. Here the row is announced
 * without waiting; a thread of its own asks for the numbers later, of all jobs
 * at once and with no lock held. A job whose row has no number yet cannot be
 * resized, as that row could not be closed (docs/decisions/0018).
 *
 * acct_messages.c	the messages, all through Slurm's queue, in order
 * row_queue.c	which jobs wait for a number; the thread
 * account.c	what has to be told again
 * audit.c	what is in the data base, against the job record
 * first_row.c	what newer releases of Slurm spoil at a job's end
 */
#ifndef SCHED_POLLUX_ACCT_H
#define SCHED_POLLUX_ACCT_H

#include <stdbool.h>

#include "common/slurm_compat.h"

/* The thread; it keeps what it has begun when it is stopped. */
void pollux_acct_start(void);
void pollux_acct_stop(void);

/*
 * Could a row that ends now be closed? If not, its number is asked for. Under
 * a lock on jobs.
 */
bool pollux_acct_ready(const job_record_t *job);

/* slurmdbd did not answer when it was last asked. Any thread. */
bool pollux_acct_away(void);

/*
 * A resize: the shape in the record ends, and another begins. _note() comes
 * first, when the request in the record is still the old one. WRITE lock on
 * jobs; the job is pollux_acct_ready().
 */
void pollux_acct_note(const job_record_t *job);
void pollux_acct_end_shape(job_record_t *job);
void pollux_acct_begin_shape(job_record_t *job);

/*
 * Slurm itself has changed the job's shape: is its number that of its present
 * row? Under no lock.
 */
void pollux_acct_see(uint32_t job_id);

/* Records from before slurmctld was started may be older than their rows. */
void pollux_acct_audit(void);

#endif
