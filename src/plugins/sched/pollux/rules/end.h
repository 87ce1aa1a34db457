/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * end.h - how long a running job may go on beyond its time limit
 *
 * As far as its partition, its QOS and its association let a new job run, not
 * past its deadline, nor into a reservation of one of its nodes, nor past the
 * planned start of a job that waits for one of them.
 */
#ifndef SCHED_POLLUX_END_H
#define SCHED_POLLUX_END_H

#include "core/base/error.h"
#include "common/slurm_compat.h"

/*
 * May it end then, with that many minutes as its limit? 0, or -1 with err set.
 * WRITE lock on jobs, READ on nodes and partitions.
 */
int pollux_end_test(job_record_t *job, time_t end, uint32_t minutes,
		    struct plx_error *err);

/*
 * The first of the jobs that wait which is planned to start on one of its
 * nodes when it has ended, or later. 0: none; else *start is set. READ lock on
 * jobs and nodes.
 */
uint32_t pollux_end_promised(const job_record_t *job, time_t *start);

/* Have it end then; accounting follows. Locks as for the test. */
void pollux_end_set(job_record_t *job, time_t end, uint32_t minutes);

#endif
