/* SPDX-License-Identifier: GPL-2.0-or-later */
/* look_gap.h - how long after a look the next one is made, at the earliest */
#ifndef SCHED_POLLUX_LOOK_GAP_H
#define SCHED_POLLUX_LOOK_GAP_H

#include <stdbool.h>

#define POLLUX_LOOK_S	   0.2	/* so often, if that costs little */
#define POLLUX_LOOK_PART   0.01 /* of the time, for looks */
#define POLLUX_LOOK_MOST_S 1.0

/* cost_s: processor time of the last look. Urgent: somebody waits for it. */
static inline double pollux_look_gap_s(double cost_s, bool urgent)
{
	double gap_s = urgent ? 0 : cost_s / POLLUX_LOOK_PART;

	if (gap_s < POLLUX_LOOK_S)
		return POLLUX_LOOK_S;
	return gap_s < POLLUX_LOOK_MOST_S ? gap_s : POLLUX_LOOK_MOST_S;
}

#endif
