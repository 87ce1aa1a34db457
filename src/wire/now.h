/* SPDX-License-Identifier: MIT */
/* now.h - the clock for durations, in seconds: it never goes back */
#ifndef PLX_WIRE_NOW_H
#define PLX_WIRE_NOW_H

#include <time.h>

static inline double plx_read_clock(clockid_t id)
{
	struct timespec t;

	clock_gettime(id, &t);
	return (double) t.tv_sec + 1e-9 * (double) t.tv_nsec;
}

static inline double plx_now_s(void)
{
	return plx_read_clock(CLOCK_MONOTONIC);
}

#endif
