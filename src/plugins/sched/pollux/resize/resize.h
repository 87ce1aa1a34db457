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

#include "common/slurm_compat.h"
#include "core/base/error.h"
#include "sched/pollux/job_shape.h"

/*
 * Resize the job. Requires pollux_record_runs() and its batch host among the
 * nodes; locks: conf READ, job WRITE, node WRITE, part READ. -1 with err set
 * when it cannot have the shape, POLLUX_CONSTRAINING while nodes are told what
 * it gives up there, or slurmctld ends; POLLUX_RESTLESS, or POLLUX_STUCK with
 * err set (constrain.h); the job is then as it was.
 */
int pollux_resize(job_record_t *job, const struct pollux_shape *shape,
		  struct plx_error *err);

/* Could it have the shape now? Same requirements; leaves the job as it was. */
int pollux_resize_test(job_record_t *job, const struct pollux_shape *shape,
		       struct plx_error *err);

#endif
