/* SPDX-License-Identifier: MIT */
/*
 * prepare.h - the last steps from what jobs are to the problem that is posed
 *
 * Slurmctld's plugin, the simulator and the tests of false reports fill a
 * problem each from what they know of their jobs. What follows is the same for
 * all and is here: jobs of a kind know what any of them measured, those that
 * nobody measured are assumed to scale somehow, and each gets its weight. Pure;
 * one thread at a time for a table of profiles.
 */
#ifndef PLX_CORE_PREPARE_H
#define PLX_CORE_PREPARE_H

#include "core/jobs/app_profile.h"

/* What a job weighs in the mean. */
enum plx_weights {
	PLX_WEIGHTS_ALIKE,   /* what its `weight` says */
	PLX_WEIGHTS_SERVICE, /* by what it has had */
	PLX_WEIGHTS_LEFT,    /* by what it has left, where it tells */
};

struct plx_prepare_job {
	bool teaches; /* what it measured is believed, for others of its kind */
	bool learns;  /* it may be lent what others measured */
	bool assumes; /* unmeasured, it scales as plx_moldable_assume() says */
	/* It may have, in one of its sizes, once it was lent that; 0: its
	 * max_gpus. */
	int most_gpus;
};

struct plx_prepare {
	struct plx_app_profiles *profiles;  /* borrowed; NULL: none are kept */
	const struct plx_prepare_job *jobs; /* [job_count] borrowed */
	enum plx_weights weights;
};

/*
 * The problem is to be decided as by a scheduler that is not told otherwise:
 * PLX_FAIRNESS, PLX_HYSTERESIS, PLX_SWITCH_COST, at most one multi-node job a
 * node, the same count on each of a job's nodes, seed 1.
 */
void plx_prepare_defaults(struct plx_problem *problem);

/* The jobs are filled, and get the rest. 0, or -1 with err set. */
int plx_prepare(struct plx_problem *problem, const struct plx_prepare *how,
		struct plx_error *err);

#endif
