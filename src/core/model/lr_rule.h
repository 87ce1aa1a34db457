/* SPDX-License-Identifier: MIT */
/*
 * lr_rule.h - how the learning rate follows the batch size
 *
 * AdaScale: Johnson et al. 2020; its square root for Adam; linear: Goyal et
 * al. 2017; square root: Krizhevsky 2014; LEGW: You et al. 2019. As in the
 * published code. Pure.
 */
#ifndef PLX_CORE_LR_RULE_H
#define PLX_CORE_LR_RULE_H

#include "core/base/error.h"
#include "core/model/noise.h"

enum plx_lr_rule {
	PLX_LR_ADASCALE,
	PLX_LR_ADAMSCALE,
	PLX_LR_LINEAR,
	PLX_LR_SQRT,
	PLX_LR_LEGW,
	PLX_LR_FIXED,
};

/* What a rule looks at. */
struct plx_lr_state {
	double scale;		/* batch of the step / base batch, > 0 */
	struct plx_noise noise; /* of the group, at the base batch */
	double progress;	/* scale-invariant iterations so far */
	double warmup;		/* iterations that LEGW warms up at scale 1 */
};

/* By the name a user gives: "adascale", ... -1 with err set if there is none.
 */
int plx_lr_rule_parse(const char *name, enum plx_lr_rule *rule,
		      struct plx_error *err);

/* Factor on the learning rate. */
double plx_lr_factor(enum plx_lr_rule rule, const struct plx_lr_state *state);

#endif
