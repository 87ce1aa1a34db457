/* SPDX-License-Identifier: GPL-2.0-or-later */
/* rigid_allocs.h - what jobs hold that are not elastic, and until when */
#ifndef SCHED_POLLUX_RIGID_ALLOCS_H
#define SCHED_POLLUX_RIGID_ALLOCS_H

#include "common/slurm_compat.h"
#include "sched/pollux/snapshot/slurm_snapshot.h"

#define POLLUX_RIGID_ALLOCS_MAX 100000 /* nodes of such jobs looked at */

/* Does the job hold something that it will give back at its end? */
bool pollux_holds_rigid_alloc(const job_record_t *job);

/*
 * Fill snapshot->allocs with what these jobs hold, and with what is idle of
 * nodes that still run an epilog: otherwise who waits for such a node would be
 * promised none, and others would go first. snapshot->nodes is filled already.
 * Under a read lock on jobs and nodes.
 */
void pollux_rigid_allocs_fill(job_record_t **jobs, int count,
			      struct pollux_snapshot *snapshot);

/* Seconds until the job has to end. */
double pollux_ends_s(const job_record_t *job, time_t now);
/* The same of an elastic job, and the whole of its limit. */
void pollux_job_ends(const job_record_t *record, time_t now,
		     struct pollux_job *job);

#endif
