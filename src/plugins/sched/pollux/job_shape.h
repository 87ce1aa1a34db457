/* SPDX-License-Identifier: GPL-2.0-or-later */
/* job_shape.h - the nodes and GPUs that a job has, or is to have */
#ifndef SCHED_POLLUX_JOB_SHAPE_H
#define SCHED_POLLUX_JOB_SHAPE_H

#include "common/slurm_compat.h"
#include "core/records/sizes.h"

struct pollux_shape {
	bitstr_t *nodes; /* [node_record_count], that of its script as well */
	int gpus;	 /* on each of them; 0: parked, the script's alone */
	int *counts;	 /* [node_record_count]: on each, `gpus` at least, or
			    none where it has only its script; NULL: `gpus` on
			    every node */
	int *lean;	 /* [node_record_count]: CPUs for so many of them, 0:
			    for its script alone, and no less memory than it
			    had; NULL: CPUs for all */
	bool back;	 /* it had this until a resize that failed */
};

/*
 * The shape of a plan's row, gpus[node_count]; without any GPU: parked on its
 * batch host. The caller's to release.
 */
struct pollux_shape pollux_shape_of(const int *gpus, int node_count,
				    int batch_host);
/* GPUs in all. */
int pollux_shape_gpus(const struct pollux_shape *shape);
/* GPUs on node n; 0 where it has none. */
int pollux_shape_on(const struct pollux_shape *shape, int n);
/* GPUs that CPUs go with on a node of the shape; 0: one CPU for its script. */
int pollux_shape_cpus_for(const struct pollux_shape *shape, int n);
/*
 * Make it even, with as many GPUs as that leaves in one of the job's sizes:
 * none where there is no such shape. Parked stays parked.
 */
void pollux_shape_level(struct pollux_shape *shape,
			const struct plx_sizes *sizes);
void pollux_shape_release(struct pollux_shape *shape);

#endif
