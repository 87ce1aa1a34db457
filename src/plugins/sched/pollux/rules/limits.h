/* SPDX-License-Identifier: GPL-2.0-or-later */
/* limits.h - what a job's account and QOS allow */
#ifndef SCHED_POLLUX_LIMITS_H
#define SCHED_POLLUX_LIMITS_H

#include "common/slurm_compat.h"
#include "core/error.h"

/*
 * May the job hold what its record now requests and has been placed on
 * (job_resrcs, gres_list_req, total_cpus)? tres_alloc_cnt still counts what
 * it held before. -1 with err set when a limit says no. WRITE lock on jobs.
 */
int pollux_limits_test(job_record_t *job, struct plx_error *err);

#endif
