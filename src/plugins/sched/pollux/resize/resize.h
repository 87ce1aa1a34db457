/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * resize.h - give a running job other nodes and GPUs, in place
 *
 * Stock Slurm can only drop whole nodes from a job. Under the write locks on
 * jobs and nodes, the job's resources are taken out of the select plugin's
 * tables, its request is written anew, the select plugin is asked to place
 * it, and nodes, steps and accounting follow. If anything is refused on the
 * way, the job gets back exactly what it had: cores, devices and request. If
 * Slurm refuses that, too, the job is ended there (lost.h).
 *
 * resize.c	the order of things, and the way back
 * request.c	what the job asks for
 * core_alloc.c	CPUs and memory
 * gres_alloc.c	which devices; the select plugin's tables
 * constrain.c	nodes are told before devices are given up
 * lost.c	jobs that do not get back what they had
 * commit.c	nodes, steps and accounting once the new shape is had
 * overlap.c	old and new shape at once, for ranks that train on
 */
#ifndef SCHED_POLLUX_RESIZE_H
#define SCHED_POLLUX_RESIZE_H

#include <stdbool.h>

#include "common/slurm_compat.h"
#include "core/base/error.h"
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
};

/*
 * The shape of a plan's row, gpus[node_count]; without any GPU: parked on its
 * home. The caller's to release.
 */
struct pollux_shape pollux_shape_of(const int *gpus, int node_count, int home);
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

/*
 * Resize the job. Requires pollux_record_runs() and its batch host among the
 * nodes; locks: conf READ, job WRITE, node WRITE, part READ. -1 with err set
 * when it cannot have the shape, POLLUX_CONSTRAINING (constrain.h) while nodes
 * are told what it gives up there; the job is then as it was.
 */
int pollux_resize(job_record_t *job, const struct pollux_shape *shape,
		  struct plx_error *err);

/* Could it have the shape now? Same requirements; leaves the job as it was. */
int pollux_resize_test(job_record_t *job, const struct pollux_shape *shape,
		       struct plx_error *err);

#endif
