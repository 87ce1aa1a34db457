/* SPDX-License-Identifier: MIT */
/* interval.c - how long to train between two checkpoints */

#include <math.h>

#include "core/model/interval.h"

#define DISK_SHARE 0.1

double plx_interval_daly(double cost_s, double mtbf_s)
{
	double x = cost_s / (2 * mtbf_s);

	/* A checkpoint that costs so much is not worth taking earlier. */
	if (x >= 1)
		return mtbf_s;
	return sqrt(2 * cost_s * mtbf_s) * (1 + sqrt(x) / 3 + x / 9) - cost_s;
}

double plx_interval_best(const struct plx_interval *job)
{
	double best = PLX_INTERVAL_MAX_S;

	if (job->mtbf_s > 0)
		best = plx_interval_daly(job->cost_s, job->mtbf_s / job->nodes);
	best = fmax(best, job->disk_s / DISK_SHARE);
	return fmin(fmax(best, PLX_INTERVAL_MIN_S), PLX_INTERVAL_MAX_S);
}
