/* SPDX-License-Identifier: GPL-2.0-or-later */
/* start_time.c - how long ranks may take to start: by how long they took */

#include <math.h>

#include "launcher/rules/clock.h"
#include "launcher/loop/start_time.h"
#include "launcher/loop/state.h"

#define TIMES 2.0 /* a start beside others that train is a slow one */

double plx_start_allowed_s(double least_s, double longest_s)
{
	return fmax(least_s, TIMES * longest_s);
}

void plx_start_learn(struct plx_launcher *l, const struct plx_generation *g)
{
	l->longest_start_s =
		fmax(l->longest_start_s, plx_now_s() - g->step.started_s);
}

double plx_start_warm_s(const struct plx_launcher *l)
{
	if (l->settings->warm_timeout_s != PLX_WARM_AUTO)
		return l->settings->warm_timeout_s;
	return plx_start_allowed_s(PLX_WARM_LEAST_S, l->longest_start_s);
}

void plx_start_late(struct plx_launcher *l)
{
	double had_s = plx_start_warm_s(l);

	l->longest_start_s = fmax(l->longest_start_s, had_s);
	if (plx_start_warm_s(l) > had_s)
		plx_say(l, PLX_NORMAL,
			"the next ranks were not ready after %.0f s; from now "
			"on they may take %.0f s",
			had_s, plx_start_warm_s(l));
	else
		plx_say(l, PLX_NORMAL,
			"the next ranks were not ready after the %.0f s of "
			"--warm-timeout: give them longer",
			had_s);
}
