/* SPDX-License-Identifier: GPL-2.0-or-later */
/* launch.h - start a pending job in a shape of our choice */
#ifndef SCHED_POLLUX_LAUNCH_H
#define SCHED_POLLUX_LAUNCH_H

#include "sched/pollux/job_shape.h"

/*
 * Start it now, in this shape, through Slurm's own select_nodes(): whatever
 * forbids a job to start forbids it here. types: of its GPUs, as in
 * node_gpus.h; "": any that its request allows. -1 with err set; it is pending
 * as before then. Locks: conf READ, job WRITE, node WRITE, part READ, fed READ.
 */
int pollux_launch(job_record_t *job, const struct pollux_shape *shape,
		  const char *types, struct plx_error *err);

#endif
