/* SPDX-License-Identifier: GPL-2.0-or-later */
/* elastic_alloc.h - what the elastic jobs of a snapshot have of their nodes */
#ifndef SCHED_POLLUX_ELASTIC_ALLOC_H
#define SCHED_POLLUX_ELASTIC_ALLOC_H

#include "sched/pollux/snapshot/slurm_snapshot.h"

/*
 * [alloc_count] what the job has of each of its nodes, in their order; NULL: it
 * has none.
 */
static inline const struct plx_node_alloc *pollux_job_allocs(
	const struct pollux_snapshot *snapshot, const struct pollux_job *job)
{
	return job->alloc_count ? snapshot->elastic_allocs + job->first_alloc
				: NULL;
}

/* What the job has of node n; zeros: nothing. */
struct plx_node_alloc pollux_job_alloc_on(
	const struct pollux_snapshot *snapshot, const struct pollux_job *job,
	int n);

#endif
