/* SPDX-License-Identifier: MIT */
/* fit_descend.h - the nearest valley of a fit's loss: inside of fit.h */
#ifndef PLX_CORE_FIT_DESCEND_H
#define PLX_CORE_FIT_DESCEND_H

#include "core/model/fit_loss.h"

/* Where the parts may lie; a part whose bounds are equal is held. */
struct plx_fit_bounds {
	double lower[PLX_FIT_PARTS], upper[PLX_FIT_PARTS];
};

/*
 * Move the parts, within the bounds before and after, downhill for at most
 * `looks` looks at a table that is not empty, or until what is left to gain
 * is less than `gain` of the loss. Returns the loss, never above the first.
 */
double plx_fit_descend(struct plx_fit_table *table,
		       const struct plx_fit_bounds *bounds, int looks,
		       double gain, double parts[PLX_FIT_PARTS]);

#endif
