/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * resize_request.h - a resize, from the request to the new shape
 * (docs/resize.md)
 *
 * Used by the plugin's thread alone. Locks are taken inside, for one job at
 * a time, or for several that follow one another (pollux_requests_begin()).
 */
#ifndef SCHED_POLLUX_RESIZE_REQUEST_H
#define SCHED_POLLUX_RESIZE_REQUEST_H

#include "sched/pollux/params.h"
#include "sched/pollux/job_shape.h"
#include "sched/pollux/job_state.h"
#include "sched/pollux/snapshot/slurm_snapshot.h"

/* For new ranks to take over from the old ones, beyond an answer's time. */
#define POLLUX_OVERLAP_S 90

/*
 * Slurmctld answers from now on. Where it has a backup, or is one, jobs have
 * more time at first: their programs may still wait for the other one.
 */
void pollux_resize_begin(void);

/*
 * Many jobs are asked now: those that follow one another share a hold of the
 * locks, given up as pollux_lock_yield() does. Between two requests nobody may
 * take a lock of slurmctld's. End it: the locks are free.
 */
void pollux_requests_begin(void);
void pollux_requests_end(void);
/* Between two of them: let others have the locks if they were held for long. */
void pollux_requests_yield(void);

/*
 * Ask job j of the snapshot for the shape gpus[node_count] (all 0: park it), if
 * it still is what it was in the snapshot and Slurm could give it that now.
 * False when it was not asked.
 */
bool pollux_resize_request(const struct pollux_snapshot *snapshot, int j,
			   const int *gpus, const char *why,
			   const struct pollux_params *params);

/* The same of a job that may have no launcher, and so is not to answer. */
bool pollux_resize_request_least(const struct pollux_snapshot *snapshot, int j,
				 const int *gpus, const char *why,
				 const struct pollux_params *params);

/*
 * The same, to leave all its nodes: once it has saved it is put back into the
 * queue and started there at once (start/migrate.h); all 0: left in the queue
 * (start/evict.h).
 */
bool pollux_migrate_ask(const struct pollux_snapshot *snapshot, int j,
			const int *gpus, const char *why,
			const struct pollux_params *params);

/*
 * The same without asking it: a moldable job is put back into the queue as it
 * is, and started there.
 */
bool pollux_migrate_at_once(const struct pollux_snapshot *snapshot, int j,
			    const int *gpus, const char *why);

/* Wait again for the answer to a target that an earlier slurmctld asked for. */
void pollux_resize_request_again(struct pollux_job_state *state,
				 const struct plx_target *target,
				 const struct pollux_params *params);

/*
 * Look at all jobs in the middle of a resize and do what is due. True when
 * one of them got its shape.
 */
bool pollux_resize_tick(void);

#endif
