/* SPDX-License-Identifier: GPL-2.0-or-later */
/* clock.h - the launcher's two clocks, in seconds */
#ifndef PLX_LAUNCHER_CLOCK_H
#define PLX_LAUNCHER_CLOCK_H

#include "wire/now.h"

/* For people and files: since 1970. For durations: plx_now_s(). */
static inline double plx_wall_s(void)
{
	return plx_read_clock(CLOCK_REALTIME);
}

#endif
