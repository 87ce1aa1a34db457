/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * backoff.h - may ranks that failed be started again, and when?
 *
 * A fault that comes back at the same place is an error of the program, not of
 * the machine: only training that gets well past the place of the last fault
 * makes faults forgotten. Pure: time is an argument, in seconds.
 */
#ifndef PLX_LAUNCHER_BACKOFF_H
#define PLX_LAUNCHER_BACKOFF_H

#include <stdbool.h>
#include <stdint.h>

struct plx_backoff {
	int faults;	/* in a row, without progress in between */
	uint64_t place; /* furthest step of a fault */
	uint64_t step;	/* that training has reached */
	double past_s;	/* since when it is past that place, 0: it is not */
};

/* Training has committed that many steps. */
void plx_backoff_reached(struct plx_backoff *b, uint64_t step, double now_s);

/* The ranks failed. False when that happened `most` times already. */
bool plx_backoff_fault(struct plx_backoff *b, int most);

/* How long to wait before the next start: longer each time, 60 s at most. */
double plx_backoff_wait_s(int faults);

#endif
