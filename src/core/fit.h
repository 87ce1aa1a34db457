/* SPDX-License-Identifier: MIT */
/*
 * fit.h - the step model that explains measured times
 *
 * Minimises the RMSE of log times (passes and whole steps) plus the paper's
 * regularisation. Terms never observed are held so that unseen scales look
 * optimistic. Pure but for memory of the fitting library; thread-safe.
 */
#ifndef PLX_CORE_FIT_H
#define PLX_CORE_FIT_H

#include <stddef.h>

#include "core/error.h"
#include "core/goodput.h"

/* Mean times measured on one shape with one batch per GPU. */
struct plx_sample {
	struct plx_shape shape;
	int per_gpu;	     /* m, samples */
	double pass_seconds; /* a pass without all-reduce, > 0 */
	double iter_seconds; /* a pass with all-reduce, >= pass_seconds */
};

/*
 * Fit the model. Rows that are not finite, not positive or absurd are left
 * out; -1 with err set when none is left, model untouched. Never NaN.
 */
int plx_fit(const struct plx_sample *rows, size_t count,
	    struct plx_model *model, struct plx_error *err);

/* The loss plx_fit() minimises, for tests and comparisons. */
double plx_fit_loss(const struct plx_model *model,
		    const struct plx_sample *rows, size_t count);

#endif
