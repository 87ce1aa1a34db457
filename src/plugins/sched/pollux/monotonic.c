/* SPDX-License-Identifier: GPL-2.0-or-later */
/* monotonic.c - the clock for durations */

#include <time.h>

#include "sched/pollux/monotonic.h"

double pollux_now_s(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double) now.tv_sec + 1e-9 * (double) now.tv_nsec;
}
