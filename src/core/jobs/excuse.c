/* SPDX-License-Identifier: MIT */
/* excuse.c - more time for a job whose ranks are busy */

#include <math.h>

#include "core/jobs/excuse.h"

#define LEAST_S 1.0 /* less is not worth a grant */

/* What has come back since. */
static void refill(struct plx_excuse *excuse, double now_s)
{
	double since_s = excuse->last_s ? fmax(now_s - excuse->last_s, 0) : 0;

	excuse->spent_s = fmax(excuse->spent_s - PLX_EXCUSE_BACK * since_s, 0);
	excuse->last_s = fmax(excuse->last_s, now_s);
}

bool plx_excuse_pay(struct plx_excuse *excuse, double now_s, double had_s,
		    double limit_s)
{
	refill(excuse, now_s);
	if (excuse->spent_s + had_s > limit_s)
		return false;
	excuse->spent_s += had_s;
	return true;
}

double plx_excuse_grant(struct plx_excuse *excuse, double now_s, double want_s,
			double limit_s)
{
	double grant_s;

	refill(excuse, now_s);
	grant_s = fmin(want_s, limit_s - excuse->spent_s);
	if (!(grant_s >= LEAST_S))
		return 0;
	excuse->spent_s += grant_s;
	excuse->last_s = now_s + grant_s;
	return grant_s;
}
