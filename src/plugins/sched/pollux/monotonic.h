/* SPDX-License-Identifier: GPL-2.0-or-later */
/* monotonic.h - the clock for durations */
#ifndef SCHED_POLLUX_MONOTONIC_H
#define SCHED_POLLUX_MONOTONIC_H

/* Seconds of a clock that never jumps. */
double pollux_now_s(void);

#endif
