/* SPDX-License-Identifier: GPL-2.0-or-later */
/* quotas.h - MaxCPUsPerNode, which the jobs of a partition share */
#ifndef SCHED_POLLUX_QUOTAS_H
#define SCHED_POLLUX_QUOTAS_H

#include "common/slurm_compat.h"
#include "sched/pollux/look/view.h"

/*
 * Which of the view's counts for jobs of the partition; -1: none. A lock on
 * partitions.
 */
int pollux_quota_of(struct pollux_view *view, const part_record_t *part);

/* Take what the job, which holds resources, has of its own. */
void pollux_quota_take(struct pollux_view *view, const job_record_t *job);

#endif
