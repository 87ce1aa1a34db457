/* SPDX-License-Identifier: GPL-2.0-or-later */
/* target_shape.h - which nodes a job that was asked is to have */
#ifndef SCHED_POLLUX_TARGET_SHAPE_H
#define SCHED_POLLUX_TARGET_SHAPE_H

#include "core/records/status.h"
#include "sched/pollux/job_shape.h"
#include "sched/pollux/job_state.h"

/*
 * The nodes of the launcher and of the batch script cannot be given up: they
 * stay in the shape, without a GPU if it has none there. False when they are
 * not known. Under a lock on jobs.
 */
bool pollux_target_shape_host(job_record_t *job,
			      const struct plx_status *status,
			      struct pollux_shape *shape);

/*
 * Is there no host where it has GPUs now and in the shape? Then no memory holds
 * the state for its next ranks. Virtual nodes of one host share that.
 */
bool pollux_target_shape_is_apart(const job_record_t *job,
				  const struct pollux_shape *shape);

/*
 * The shape that the job was asked to take; nodes that were forgotten are
 * chosen anew. *shape is the caller's to release, also when it fails. Under
 * locks on jobs, nodes and partitions.
 */
int pollux_target_shape(job_record_t *job, const struct pollux_job_state *state,
			const struct plx_status *status,
			struct pollux_shape *shape, struct plx_error *err);

/*
 * The shape in words: nodes with GPUs (or where it is parked) and their GPUs of
 * *target, these nodes in *names, the caller's to xfree(). -1 when counts that
 * differ are too many to be told.
 */
int pollux_target_shape_write(const struct pollux_shape *shape,
			      struct plx_target *target, char **names,
			      struct plx_error *err);

/* And back. *shape is the caller's to release, also when it fails. */
int pollux_target_shape_read(const struct plx_target *target, char *names,
			     struct pollux_shape *shape, struct plx_error *err);

/* Is the job on its way to nowhere but the queue? */
bool pollux_evicts(const struct plx_target *target);

#endif
