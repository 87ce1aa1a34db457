/* SPDX-License-Identifier: MIT */
/*
 * reached.h - how often random cases came to what they are drawn for
 *
 * A test of random cases says nothing of a branch that none of them takes. It
 * keeps a row for each, counts there, and ends with assert_all_reached().
 */
#ifndef PLX_REACHED_H
#define PLX_REACHED_H

#include "unit.h"

struct reached {
	const char *what; /* for the message of a failure */
	int times;
};

/* Each row was reached so many times, or more. */
static inline void assert_all_reached(const struct reached *rows, size_t count,
				      int least)
{
	for (size_t i = 0; i < count; i++) {
		if (rows[i].times < least)
			fail_msg("reached %d times, want %d: %s", rows[i].times,
				 least, rows[i].what);
	}
}

#endif
