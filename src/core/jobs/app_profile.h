/* SPDX-License-Identifier: MIT */
/*
 * app_profile.h - what jobs of the same kind have learnt lends itself to the next
 *
 * A job that has just come knows nothing of how it scales, and would have to
 * try sizes one by one, a restart each. Others of its kind tried them before:
 * of the same owner and batch limits and, where both measured, equally fast
 * passes.
 * What the one with the largest allocation knows is lent to those that know
 * less; of equals the one with most service counts, the older in doubt, and
 * once that has ended, the next. A job that never ran is lent nothing where
 * kinds of its limits differ in speed. Memory is fixed; a zeroed plx_kinship
 * knows nobody. Pure otherwise; a kinship belongs to one thread at a time.
 */
#ifndef PLX_CORE_KIN_H
#define PLX_CORE_KIN_H

#include "core/problem/problem.h"

#define PLX_KIN_MAX 64 /* kinds; the one not met for longest is forgotten, */
#define PLX_KIN_OWN 16 /* of its owner's, where that has so many */

struct plx_kin {
	struct plx_goodput goodput; /* of the first batch statistics seen */
	int profiled_gpus;	    /* largest count measured */
	uint32_t owner;		    /* whose jobs they are */
	uint32_t knower;	    /* the job that knows it, */
	double service_s;	    /* what that had when it last told */
	unsigned silence;	    /* how often others told since */
	unsigned long met;	    /* when a job of the kind was last there */
};

struct plx_kinship {
	struct plx_kin kin[PLX_KIN_MAX];
	int count;
	unsigned long now; /* counts what was learnt */
};

/* Remember what a profiled job knows, unless its kind knows more already. */
void plx_kin_learn(struct plx_kinship *kinship, const struct plx_job *job);

/*
 * Lend a job that has measured less what its kind knows: the step model, how
 * far it was measured, and before it ran the first gradient statistics of the
 * kind. True when something was lent. The job's limits must be set; whether
 * it is profiled becomes true.
 */
bool plx_kin_lend(const struct plx_kinship *kinship, struct plx_job *job);

#endif
