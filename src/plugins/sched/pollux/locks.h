/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * locks.h - slurmctld's locks as the plugin takes them, and how long it does
 *
 * While a write lock is held, slurmctld answers nobody; a read lock holds up
 * who wants to write, and with that who comes after. So every lock is taken
 * here, for one of a few purposes, and timed; what the plugin has to say
 * meanwhile is said when the lock is given up, as a log may be slow, and other
 * threads are woken then.
 */
#ifndef SCHED_POLLUX_LOCKS_H
#define SCHED_POLLUX_LOCKS_H

#include <stdbool.h>

#include "common/slurm_compat.h"
#include "core/records/metrics.h"

enum pollux_purpose {
	POLLUX_LOOK,	   /* read: a snapshot of all jobs and nodes */
	POLLUX_AHEAD,	   /* read: jobs before a look, some at a time */
	POLLUX_JUDGE,	   /* read: is anything due for some jobs? */
	POLLUX_REQUESTING, /* write: a target for one job */
	POLLUX_TOUCH,	   /* write: what is due for one job */
	POLLUX_ACCOUNT,	   /* write: numbers of rows */
	POLLUX_CHECKING,   /* read: is anything to be mended? */
	POLLUX_MENDING,	   /* write: after a restart, now and then */
	POLLUX_RESERVED,   /* read: is a reservation free? */
	POLLUX_STARTING,   /* write: jobs on what is reserved for them */
	POLLUX_CLEARING,   /* write: would a job start on nodes for itself? */
	POLLUX_REPORTING,  /* write: sentences on job records */
	POLLUX_MARKING,	   /* write: comments of nodes */
	POLLUX_POWER,	   /* write: nodes are woken */
	POLLUX_PURPOSES,
};

/* Take the purpose's locks. Not nested; unlocked by the same thread. */
void pollux_lock(enum pollux_purpose purpose);
void pollux_unlock(enum pollux_purpose purpose);

/*
 * Between two jobs of many: let others have the lock if it was held for long.
 * Whatever was read under it has to be read again.
 */
void pollux_lock_yield(enum pollux_purpose purpose);

/*
 * Call act(arg) when the lock is given up, in the order of these calls and
 * before anything is said; at once when none is held. For what needs no lock
 * and wakes another thread, which costs more than most that is done under one.
 * A call that waits already is made once.
 */
void pollux_after_unlock(void (*act)(void *arg), void *arg);

/* schedule_job_save() and agent_queue_request(), like that. */
void pollux_save_jobs(void);
void pollux_send(agent_arg_t *message);

/* Into metrics->held; any thread. */
void pollux_locks_read(struct plx_metrics *metrics);

/*
 * Does slurmctld end, or begin anew for a reconfigure? Then no job is resized
 * or started any more: Slurm 25.05 unloads its accounting plugin before it
 * stops schedulers. Without a lock.
 */
bool pollux_ending(void);

/* As info() and verbose(): at once, or when the lock is given up. */
__attribute__((format(printf, 1, 2))) void pollux_info(const char *format, ...);
__attribute__((format(printf, 1, 2))) void pollux_verbose(const char *format,
							  ...);

#endif
