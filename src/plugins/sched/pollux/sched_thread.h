/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * sched_thread.h - the scheduling thread
 *
 * Each cycle: look at slurmctld under a read lock, think with no lock held,
 * then act on one job at a time under the write locks, checking again what
 * may have changed. Between cycles, a short look at jobs in the middle of a
 * resize only.
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
