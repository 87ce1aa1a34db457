/* SPDX-License-Identifier: MIT */
/* noise.c - the gradient noise scale, measured while training */

#include <math.h>

#include "core/model/noise.h"

#define VAR_MIN 1e-6 /* as published: a gain always exists */

static void smooth(double *biased, double *weight, double theta, double value)
{
	*biased = theta * *biased + (1 - theta) * value;
	*weight = theta * *weight + (1 - theta);
}

void plx_noise_update(struct plx_noise_tracker *tracker,
		      const struct plx_noise_step *step)
{
	double n = step->parts;
	double scale = step->total_batch / step->base_batch;
	double theta = pow(1 - 1 / step->window, scale);
	double sqr;
	double var;

	if (step->parts < 2 || !(scale > 0) || !isfinite(scale) ||
	    !(step->window >= 1))
		return;
	/*
	 * The squared norm of a mean of n parts is expected to be that of the
	 * true gradient plus 1/n of a part's variance. Two sizes, 1 and n,
	 * give both; scale takes the variance back to the base batch.
	 */
	sqr = (n * step->sqr_mean - step->mean_sqr_parts) / (n - 1);
	var = (step->mean_sqr_parts - step->sqr_mean) * scale / (n - 1);
	if (!isfinite(sqr) || !isfinite(var))
		return;
	smooth(&tracker->sqr_biased, &tracker->sqr_weight, theta, sqr);
	smooth(&tracker->var_biased, &tracker->var_weight, theta, var);
	tracker->updates++;
}

bool plx_noise_get(const struct plx_noise_tracker *tracker,
		   struct plx_noise *noise)
{
	double sqr = tracker->sqr_biased / tracker->sqr_weight;
	double var = tracker->var_biased / tracker->var_weight;

	/* The state may come from a file: trust nothing. */
	if (tracker->updates < 1 || !isfinite(sqr) || !isfinite(var))
		return false;
	*noise = (struct plx_noise){
		.sqr = fmax(sqr, 0),
		.var = fmax(var, VAR_MIN),
	};
	return true;
}

struct plx_noise plx_noise_or_first(const struct plx_noise_tracker *tracker)
{
	struct plx_noise noise = { .sqr = 1, .var = VAR_MIN };

	plx_noise_get(tracker, &noise);
	return noise;
}

bool plx_noise_sum(const struct plx_noise_groups *groups,
		   struct plx_noise *noise)
{
	struct plx_noise sum = { 0 };
	bool any = false;

	for (int i = 0; i < groups->count && i < PLX_NOISE_GROUPS; i++) {
		struct plx_noise one = plx_noise_or_first(&groups->of[i]);

		any = any || groups->of[i].updates > 0;
		sum.sqr += one.sqr;
		sum.var += one.var;
	}
	if (any)
		*noise = sum;
	return any;
}

double plx_noise_gain(const struct plx_noise *noise, double scale)
{
	double sqr = fmax(noise->sqr, 0);
	double var = fmax(noise->var, VAR_MIN);

	return (var + sqr) / (var / scale + sqr);
}
