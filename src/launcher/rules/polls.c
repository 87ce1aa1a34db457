/* SPDX-License-Identifier: GPL-2.0-or-later */
/* polls.c - when to look at the job's record next */

#include <math.h>

#include "launcher/rules/polls.h"

double plx_polls_jitter(uint32_t *seed, double pause_s)
{
	/* Numerical Recipes' generator: launchers only have to differ. */
	*seed = *seed * 1664525U + 1013904223U;
	return pause_s * (1 + PLX_POLLS_JITTER * (double) (*seed >> 8) /
				      (double) (1U << 24));
}

void plx_polls_at_once(struct plx_polls *polls)
{
	polls->due_s = 0;
}

void plx_polls_by(struct plx_polls *polls, double due_s)
{
	polls->due_s = fmin(polls->due_s, due_s);
}

void plx_polls_anew(struct plx_polls *polls)
{
	polls->wait_s = 0;
}

bool plx_polls_begin(struct plx_polls *polls, double now_s)
{
	if (now_s < polls->due_s)
		return false;
	polls->due_s = INFINITY;
	polls->under_way = true;
	return true;
}

/* Who was told to look meanwhile does so all the same. */
static void pause_for(struct plx_polls *polls, double now_s, double pause_s)
{
	polls->under_way = false;
	if (polls->due_s > 0)
		polls->due_s = now_s + plx_polls_jitter(&polls->seed, pause_s);
}

static double doubled(double pause_s, double first_s, double last_s)
{
	return pause_s > 0 ? fmin(2 * pause_s, last_s) : first_s;
}

void plx_polls_came(struct plx_polls *polls, double now_s, bool awaits,
		    double calm_s)
{
	polls->trouble_s = 0;
	polls->wait_s = awaits ? doubled(polls->wait_s, PLX_POLLS_WAIT_FIRST_S,
					 PLX_POLLS_WAIT_LAST_S)
			       : 0;
	pause_for(polls, now_s, awaits ? fmin(polls->wait_s, calm_s) : calm_s);
}

void plx_polls_failed(struct plx_polls *polls, double now_s, bool awaits)
{
	polls->trouble_s = doubled(polls->trouble_s, PLX_POLLS_TROUBLE_FIRST_S,
				   awaits ? PLX_POLLS_WAIT_LAST_S
					  : PLX_POLLS_TROUBLE_LAST_S);
	pause_for(polls, now_s, polls->trouble_s);
}
