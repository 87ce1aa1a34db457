/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * sched_thread.h - the scheduling thread
 *
 * Up to five times a second (snapshot/look_gap.h), if slurmctld has touched a
 * job or a node, a look: a snapshot under a read lock. Where that shows
 * something to decide a cycle follows: it thinks with no lock held, then acts
 * on one job after the other under the write locks, checking again what may
 * have changed. In between, jobs in the middle of a resize are seen to.
 */
#ifndef SCHED_POLLUX_SCHED_THREAD_H
#define SCHED_POLLUX_SCHED_THREAD_H

#include <stdbool.h>

/* The thread; returns after pollux_stop(). */
void *pollux_agent(void *unused);

/* Tell the thread to end; does not wait for it. */
void pollux_stop(void);

/*
 * Read SchedulerParameters, if they are others than before. Called with
 * slurmctld's configuration locked, as it calls a scheduler's init() and
 * sched_p_reconfig(). True when backfill is wanted.
 */
bool pollux_reconfig(void);

#endif
