/* SPDX-License-Identifier: GPL-2.0-or-later */
/* clock.h - the launcher's two clocks, in seconds */
#ifndef PLX_LAUNCHER_CLOCK_H
#define PLX_LAUNCHER_CLOCK_H

#include <time.h>

static inline double plx_read_clock(clockid_t id)
{
	struct timespec t;

	clock_gettime(id, &t);
	return (double) t.tv_sec + 1e-9 * (double) t.tv_nsec;
}

/* For durations: never jumps. */
static inline double plx_now_s(void)
{
	return plx_read_clock(CLOCK_MONOTONIC);
}

/* For people and files: since 1970. */
static inline double plx_wall_s(void)
{
	return plx_read_clock(CLOCK_REALTIME);
}

#endif
