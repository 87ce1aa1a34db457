/* SPDX-License-Identifier: MIT */
/*
 * fit.h - the step model that explains measured times
 *
 * Minimises the RMSE of log times (passes and whole steps) plus the paper's
 * regularisation. Terms never observed are held so that unseen scales look
 * optimistic. Pure but for memory; thread-safe.
 */
#ifndef PLX_CORE_FIT_H
#define PLX_CORE_FIT_H

#include <stddef.h>

#include "core/base/error.h"
#include "core/model/goodput.h"

/* Mean times measured on one shape with one batch per GPU. */
struct plx_sample {
	struct plx_shape shape;
	int per_gpu;	     /* m, samples */
	double pass_seconds; /* a pass without all-reduce, > 0 */
	double iter_seconds; /* a pass with all-reduce, >= pass_seconds */
};

/*
 * Fit the paper's model. Rows that are not finite, not positive or absurd are
 * left out; -1 with err set when none is left, model untouched. Never NaN.
 *
 * Rows that are four times off what the model of the others says are left
 * out as well, a quarter of the rows at most: a rank was suspended. Should
 * that not be enough, all rows count: no such model explains the job. A row
 * that alone shows a term (the first on two nodes) cannot be told from a
 * slow network and is believed. The order of rows makes no difference.
 */
int plx_fit(const struct plx_sample *rows, size_t count,
	    struct plx_model *model, struct plx_error *err);

/*
 * The same from the model that the rows but the last gave, for a seventh of
 * the time, of the same growth. Whether it starts anew after all depends on
 * the rows alone: it does with few, with every eighth, and when the loss
 * rises notably; and from a model of which only the growth is not 0. model
 * may be start.
 */
int plx_fit_from(const struct plx_model *start, const struct plx_sample *rows,
		 size_t count, struct plx_model *model, struct plx_error *err);

/* The loss plx_fit() minimises, over all rows that are sane. */
double plx_fit_loss(const struct plx_model *model,
		    const struct plx_sample *rows, size_t count);

#endif
