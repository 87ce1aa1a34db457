/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * core_alloc.h - CPUs and memory for a shape
 *
 * A request of Slurm's is for the same on every node. A shape that is not is
 * asked for in parts, one for each count: on each of its nodes the job gets
 * what Slurm gives to a job with so many GPUs a node.
 */
#ifndef SCHED_POLLUX_CORE_ALLOC_H
#define SCHED_POLLUX_CORE_ALLOC_H

#include "sched/pollux/resize/holding.h"
#include "sched/pollux/resize/request.h"

/*
 * Fill job->job_resrcs and the job's request, which is that for the shape
 * already; no cores of held->barred. *keep: where it has what it would be given
 * again it keeps its cores; then whether it does anywhere. -1 with err set; the
 * record is then for pollux_request_restore().
 */
int pollux_core_alloc_choose(job_record_t *job,
			     const struct pollux_shape *shape,
			     const struct pollux_request *saved,
			     struct pollux_holding *held, bool *keep,
			     struct plx_error *err);

/*
 * Memory of a job that holds its old and its new shape at once, on each node
 * the larger of both: ranks of the one and of the other run there.
 */
void pollux_core_alloc_keep_memory(job_resources_t *both,
				   const job_resources_t *before);

#endif
