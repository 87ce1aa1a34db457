/* SPDX-License-Identifier: GPL-2.0-or-later */
/* partition.h - what a job's partition allows it in another shape */
#ifndef SCHED_POLLUX_PARTITION_H
#define SCHED_POLLUX_PARTITION_H

#include "common/slurm_compat.h"
#include "core/base/error.h"
#include "sched/pollux/job_shape.h"

/*
 * Would its partition take a new job of this shape: its user, account and QOS,
 * its time limit, so many nodes, so much memory? Asked of Slurm itself, about
 * a copy of the record. -1 with err set. A lock on jobs and partitions; none
 * of assoc_mgr's, as newer releases take these.
 */
int pollux_partition_test(const job_record_t *job,
			  const struct pollux_shape *shape,
			  struct plx_error *err);

/*
 * Most GPUs that it may have on one node by MaxMemPerNode of its partition or
 * the cluster, at most `most`; the same locks.
 */
int pollux_partition_node_gpus(const job_record_t *job, int most);

#endif
