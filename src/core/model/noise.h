/* SPDX-License-Identifier: MIT */
/*
 * noise.h - the gradient noise scale, measured while training
 *
 * From the squared norms of gradients at two batch sizes (each rank's, or
 * each accumulation pass's, and their mean) come unbiased estimates of the
 * true gradient's squared norm and of its variance, smoothed over steps.
 * McCandlish et al. 2018, appendix A; smoothing as in the published code.
 */
#ifndef PLX_CORE_NOISE_H
#define PLX_CORE_NOISE_H

#include <stdbool.h>

#include "core/model/goodput.h"

/* Smoothed state; all zero is a good start, and may be saved as bytes. */
struct plx_noise_tracker {
	double sqr_biased, sqr_weight;
	double var_biased, var_weight;
	long updates;
};

/* What one optimiser step saw. */
struct plx_noise_step {
	int parts;	       /* gradients averaged: gpus * (s + 1) */
	double mean_sqr_parts; /* mean of the squared norms of the parts */
	double sqr_mean;       /* squared norm of their mean */
	double total_batch;    /* samples in the step */
	double base_batch;     /* M0 */
	double window;	       /* of smoothing, base batches, >= 1 */
};

#define PLX_NOISE_WINDOW 1000 /* as published */

/*
 * Take one step in; ignores a step with one part or numbers that are not
 * finite. History loses 1 / window of its weight with each base batch.
 */
void plx_noise_update(struct plx_noise_tracker *tracker,
		      const struct plx_noise_step *step);

/* Present estimate at base_batch; false while there is none. */
bool plx_noise_get(const struct plx_noise_tracker *tracker,
		   struct plx_noise *noise);

#define PLX_NOISE_GROUPS 16

/* Of each group of parameters, that has a learning rate of its own. */
struct plx_noise_groups {
	int count; /* 1 to PLX_NOISE_GROUPS */
	struct plx_noise_tracker of[PLX_NOISE_GROUPS];
};

/* As plx_noise_get(); what the published code begins with while there is none.
 */
struct plx_noise plx_noise_or_first(const struct plx_noise_tracker *tracker);

/* All parameters' estimate, the sum of the groups'; false without any. */
bool plx_noise_sum(const struct plx_noise_groups *groups,
		   struct plx_noise *noise);

/*
 * AdaScale's gain of a step with total batch M = scale * M0: learning rate
 * factor and equivalent base-batch steps, 1 to scale.
 * Johnson et al. 2020, "AdaScale SGD", section 3.
 */
double plx_noise_gain(const struct plx_noise *noise, double scale);

#endif
