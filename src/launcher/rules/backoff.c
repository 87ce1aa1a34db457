/* SPDX-License-Identifier: GPL-2.0-or-later */
/* backoff.c - may ranks that failed be started again, and when? */

#include <math.h>

#include "launcher/rules/backoff.h"

#define FIRST_S	  0.2
#define LONGEST_S 60.0
#define PAST_S	  10.0 /* of training, where there was a fault before */

void plx_backoff_reached(struct plx_backoff *b, uint64_t step, double now_s)
{
	b->step = step;
	if (!b->faults || step <= b->place) {
		b->past_s = 0;
		return;
	}
	if (!b->past_s)
		b->past_s = now_s;
	if (now_s - b->past_s >= PAST_S)
		b->faults = 0;
}

bool plx_backoff_fault(struct plx_backoff *b, int most)
{
	b->past_s = 0;
	if (b->faults >= most)
		return false;
	/* What was forgotten is no place of a fault any more. */
	if (!b->faults || b->step > b->place)
		b->place = b->step;
	b->faults++;
	return true;
}

double plx_backoff_wait_s(int faults)
{
	double wait_s = FIRST_S;

	for (int i = 0; i < faults && wait_s < LONGEST_S; i++)
		wait_s *= 2;
	return fmin(wait_s, LONGEST_S);
}
