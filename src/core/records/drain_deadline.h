/* SPDX-License-Identifier: MIT */
/*
 * drain_deadline.h - what the reason of a drained node says of the time to
 *leave it
 *
 *	leave			jobs are to be gone as soon as they can
 *	until=TIME		... when that time comes
 *
 * `leave` is the reason's first word; until= stands at the beginning of any.
 * TIME is one of those that Slurm knows: seconds since 1970,
 * YYYY-MM-DD[THH:MM[:SS]], HH:MM[:SS] (the next one), or
 * now[+N[seconds|minutes|hours|days|weeks]], by the time the reason was set.
 */
#ifndef PLX_CORE_DRAIN_DEADLINE_H
#define PLX_CORE_DRAIN_DEADLINE_H

#include <stdbool.h>

#include "core/base/error.h"

/* Whole jobs begin to leave so long before the deadline. */
#define PLX_DRAIN_DEADLINE_S 120

enum plx_drain_deadline_kind {
	PLX_DRAIN_DEADLINE_NONE, /* nothing is said: who is there may stay */
	PLX_DRAIN_DEADLINE_LEAVE,
	PLX_DRAIN_DEADLINE_UNTIL,
};

struct plx_drain_deadline {
	enum plx_drain_deadline_kind kind;
	double until_s; /* PLX_DRAIN_DEADLINE_UNTIL: seconds since 1970 */
};

/*
 * Read a reason (NULL: none) that was set at set_s, where local time is
 * utc_offset_s ahead of UTC. -1 with err set when it has a time that is none:
 * *deadline is PLX_DRAIN_DEADLINE_NONE then.
 */
int plx_drain_deadline_read(const char *reason, double set_s,
			    double utc_offset_s,
			    struct plx_drain_deadline *deadline,
			    struct plx_error *err);

/* Is it time for whole jobs to leave? */
bool plx_drain_deadline_is_due(const struct plx_drain_deadline *deadline,
			       double now_s);

#endif
