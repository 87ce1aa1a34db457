/* SPDX-License-Identifier: GPL-2.0-or-later */
/* polls.c - when to look at the job's record next */

#include <math.h>

#include "launcher/rules/polls.h"

double plx_looks_jitter(uint32_t *seed, double pause_s)
{
	/* Numerical Recipes' generator: launchers only have to differ. */
	*seed = *seed * 1664525U + 1013904223U;
	return pause_s * (1 + PLX_LOOKS_JITTER * (double) (*seed >> 8) /
				      (double) (1U << 24));
}

void plx_looks_at_once(struct plx_looks *looks)
{
	looks->due_s = 0;
}

void plx_looks_by(struct plx_looks *looks, double due_s)
{
	looks->due_s = fmin(looks->due_s, due_s);
}

void plx_looks_anew(struct plx_looks *looks)
{
	looks->wait_s = 0;
}

bool plx_looks_begin(struct plx_looks *looks, double now_s)
{
	if (now_s < looks->due_s)
		return false;
	looks->due_s = INFINITY;
	looks->under_way = true;
	return true;
}

/* Who was told to look meanwhile does so all the same. */
static void pause_for(struct plx_looks *looks, double now_s, double pause_s)
{
	looks->under_way = false;
	if (looks->due_s > 0)
		looks->due_s = now_s + plx_looks_jitter(&looks->seed, pause_s);
}

static double doubled(double pause_s, double first_s, double last_s)
{
	return pause_s > 0 ? fmin(2 * pause_s, last_s) : first_s;
}

void plx_looks_came(struct plx_looks *looks, double now_s, bool awaits,
		    double calm_s)
{
	looks->trouble_s = 0;
	looks->wait_s = awaits ? doubled(looks->wait_s, PLX_LOOKS_WAIT_FIRST_S,
					 PLX_LOOKS_WAIT_LAST_S)
			       : 0;
	pause_for(looks, now_s, awaits ? fmin(looks->wait_s, calm_s) : calm_s);
}

void plx_looks_failed(struct plx_looks *looks, double now_s, bool awaits)
{
	looks->trouble_s = doubled(looks->trouble_s, PLX_LOOKS_TROUBLE_FIRST_S,
				   awaits ? PLX_LOOKS_WAIT_LAST_S
					  : PLX_LOOKS_TROUBLE_LAST_S);
	pause_for(looks, now_s, looks->trouble_s);
}
