/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * held.h - slurmctld's locks as the plugin takes them, and how long it does
 *
 * While a write lock is held, slurmctld answers nobody; a read lock holds up
 * who wants to write, and with that who comes after. So every lock is taken
 * here, for one of a few purposes, and timed.
 */
#ifndef SCHED_POLLUX_HELD_H
#define SCHED_POLLUX_HELD_H

#include "core/metrics.h"

enum pollux_purpose {
	POLLUX_LOOK,	/* read: a view of all jobs and nodes */
	POLLUX_JUDGE,	/* read: is anything due for one job? */
	POLLUX_ASKING,	/* write: a target for one job */
	POLLUX_TOUCH,	/* write: what is due for one job */
	POLLUX_ACCOUNT, /* write: numbers of rows */
	POLLUX_MENDING, /* write: after a restart, now and then */
	POLLUX_PURPOSES,
};

/* Take the purpose's locks. Not nested; unlocked by the same thread. */
void pollux_lock(enum pollux_purpose purpose);
void pollux_unlock(enum pollux_purpose purpose);

/* Into metrics->held; any thread. */
void pollux_held_read(struct plx_metrics *metrics);

#endif
