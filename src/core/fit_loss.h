/* SPDX-License-Identifier: MIT */
/* fit_loss.h - the loss of a step model, and its slope: inside of libfit */
#ifndef PLX_CORE_FIT_LOSS_H
#define PLX_CORE_FIT_LOSS_H

#include <stdbool.h>

#include "core/fit.h"

/* The model's parameters in the order of the optimiser's vectors. */
enum plx_fit_part {
	PLX_ALPHA_C,
	PLX_BETA_C,
	PLX_ALPHA_N,
	PLX_BETA_N,
	PLX_ALPHA_R,
	PLX_BETA_R,
	PLX_GAMMA,
	PLX_FIT_PARTS,
};

/* No alpha or beta is fitted below this, seconds; as published. */
#define PLX_FIT_FLOOR 1e-8

/* The row is finite, positive and not absurd. */
bool plx_fit_usable(const struct plx_sample *row);

/*
 * The loss over the usable rows at these parts, and its gradient; INFINITY
 * without a usable row.
 */
double plx_fit_slope(const double parts[PLX_FIT_PARTS],
		     const struct plx_sample *rows, size_t count,
		     double slope[PLX_FIT_PARTS]);

#endif
