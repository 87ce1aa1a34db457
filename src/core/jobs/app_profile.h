/* SPDX-License-Identifier: MIT */
/*
 * app_profile.h - what jobs of a kind have measured, lent to the next of it
 *
 * A job that has just come knows nothing of how it scales, and would have to
 * try sizes one by one, a restart each. Others of its kind tried them before:
 * jobs of the same owner, batch limits and type of GPU and, where both
 * measured, equally fast passes. The profile of a kind is what the job with the
 * largest allocation measured; between equals, the one with most service. It is
 * lent to those that measured less. A job that never ran is lent nothing where
 * kinds of its limits differ in speed. Memory is fixed; zeroed, there are no
 * profiles. Pure otherwise; a table belongs to one thread at a time.
 */
#ifndef PLX_CORE_APP_PROFILE_H
#define PLX_CORE_APP_PROFILE_H

#include "core/problem/problem.h"

#define PLX_APP_PROFILES_MAX                                                   \
	64 /* kinds; the one not met for longest is forgotten, */
#define PLX_APP_PROFILES_OWN 16 /* of its owner's, where that has so many */

struct plx_app_profile {
	struct plx_goodput goodput; /* of the first batch statistics seen */
	int profiled_gpus;	    /* largest count measured */
	uint32_t owner;		    /* whose jobs they are */
	uint32_t gpu_type;	    /* on which; 0: not known */
	uint32_t knower;	    /* the job that knows it, */
	double service_s;	    /* what that had when it last told */
	unsigned silence;	    /* how often others told since */
	unsigned long met;	    /* when a job of the kind was last there */
};

struct plx_app_profiles {
	struct plx_app_profile profile[PLX_APP_PROFILES_MAX];
	int count;
	unsigned long now; /* counts what was learnt */
};

/* Remember what a profiled job knows, unless its kind knows more already. */
void plx_app_profile_learn(struct plx_app_profiles *profiles,
			   const struct plx_job *job);

/*
 * Lend a job that has measured less what its kind knows: the step model, how
 * far it was measured, and before it ran the first gradient statistics of the
 * kind. True when something was lent. The job's limits must be set; whether
 * it is profiled becomes true.
 */
bool plx_app_profile_apply(const struct plx_app_profiles *profiles,
			   struct plx_job *job);

#endif
