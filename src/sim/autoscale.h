/* SPDX-License-Identifier: MIT */
/*
 * autoscale.h - a cluster that grows and shrinks with what it is used for
 *
 * Utility, as in "Pollux", OSDI '21, section 4.2.2: the jobs' speedups over
 * one GPU, in all, by all GPUs of the cluster. It falls the more nodes there
 * are. Once an interval the policy is asked what it would make of other
 * numbers of nodes, and the one whose utility is closest to the target is
 * wanted. The cluster grows at once, but shrinks only to the largest number
 * that was wanted in the last PLX_SCALING_MEMORY_S: nodes that go make jobs
 * restart. A new node is paid for, but not usable, until it has booted.
 */
#ifndef PLX_SIM_AUTOSCALE_H
#define PLX_SIM_AUTOSCALE_H

#include "core/jobs/scale.h"
#include "sim/policy.h"

#define PLX_SCALING_MEMORY_S 300.0

struct plx_autoscaler {
	const struct plx_policy *policy;
	struct plx_scaling scaling;
	int paid;	 /* nodes asked for, >= usable */
	int usable;	 /* the first ones of the cluster */
	double *ready_s; /* [max_nodes] when a node paid for is usable */
	struct plx_scaler past;
	double window_s; /* past goes back so far */
};

/* At first there are min_nodes. The scaler is the caller's to release. */
int plx_autoscaler_init(struct plx_autoscaler *scaler,
			const struct plx_setting *setting,
			const struct plx_policy *policy, struct plx_error *err);
void plx_autoscaler_release(struct plx_autoscaler *scaler);

/* Decide how many nodes there are for this turn: scaler->usable. */
int plx_autoscale(struct plx_autoscaler *scaler, struct plx_round *round,
		  struct plx_error *err);

/*
 * Speedups over one GPU, in all, by the GPUs of the first so many nodes, in
 * the policy's plan for them.
 */
int plx_autoscale_utility(const struct plx_policy *policy,
			  struct plx_round *round, int nodes, double *utility,
			  struct plx_error *err);

#endif
