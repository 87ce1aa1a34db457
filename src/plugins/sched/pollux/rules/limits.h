/* SPDX-License-Identifier: GPL-2.0-or-later */
/* limits.h - what a job's associations and QOS allow (docs/rules.md) */
#ifndef SCHED_POLLUX_LIMITS_H
#define SCHED_POLLUX_LIMITS_H

#include "common/slurm_compat.h"
#include "core/base/error.h"

/*
 * May the job hold what its record now requests and has been placed on
 * (job_resrcs, gres_list_alloc, total_cpus)? tres_alloc_cnt still counts what
 * it held before. Slurm is asked as for a new job of that size while the old
 * one is taken out of its counters; less of everything is always allowed. -1
 * with err set, in words and numbers, when a limit says no; nothing changes.
 * WRITE lock on jobs.
 */
int pollux_limits_test(job_record_t *job, struct plx_error *err);

#endif
