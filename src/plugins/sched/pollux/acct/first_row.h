/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * first_row.h - the first row of a job keeps what the job had then
 *
 * From Slurm 26.05 on steps belong to the first row of their job, and when the
 * last one has ended, that row is given what the job had at its end, as if it
 * had never been resized (docs/versions.md). So what a job had first is kept
 * here, and told again after that. A slurmctld that is started anew does not
 * know it any more.
 */
#ifndef SCHED_POLLUX_FIRST_ROW_H
#define SCHED_POLLUX_FIRST_ROW_H

#include "common/slurm_compat.h"

/*
 * The job's first row has just ended, by a resize. number: of the row; 0: this
 * Slurm leaves first rows alone, and nothing is kept. WRITE lock on jobs.
 */
void pollux_first_row_keep(const job_record_t *job, uint64_t number);

/* The job does not run any more, or is gone. Under any lock on jobs. */
void pollux_first_row_ended(uint32_t job_id);

/*
 * Tell those of such jobs whose last step has ended. Takes a read lock, if
 * there are any.
 */
void pollux_first_row_mend(void);

void pollux_first_row_free(void);

#endif
