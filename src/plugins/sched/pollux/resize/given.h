/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * given.h - CPUs and memory that Slurm gives with so many GPUs on a node
 *
 * To ask the select plugin for cores takes long on a large cluster, whatever is
 * asked for. On a node where a job has just the CPUs and the memory that were
 * given last for the same request on such a node, it keeps its cores instead.
 * Used by the plugin's thread alone.
 */
#ifndef SCHED_POLLUX_GIVEN_H
#define SCHED_POLLUX_GIVEN_H

#include "sched/pollux/resize/holding.h"
#include "sched/pollux/resize/request.h"

/*
 * One number of all that CPUs and memory of a GPU follow from, but for the
 * node; 0: nothing is to be kept, as more counts than what the job itself has.
 * `saved` was taken from the job.
 */
uint64_t pollux_given_for(const job_record_t *job,
			  const struct pollux_request *saved);

/* The select plugin gave this for so many GPUs on each node. */
void pollux_given_learn(const job_resources_t *resources, int gpus,
			uint64_t request);

/*
 * The nodes of the shape where the job has what it would be given again; NULL:
 * there are none. The caller's to free.
 */
bitstr_t *pollux_given_kept(const struct pollux_shape *shape,
			    const struct pollux_holding *held,
			    uint64_t request);

/*
 * Put the cores of these nodes, and memory as it would be given, into `all`,
 * which has them among its nodes and nothing on them yet.
 */
void pollux_given_keep(const struct pollux_shape *shape,
		       const struct pollux_holding *held, uint64_t request,
		       bitstr_t *kept, job_resources_t *all);

#endif
