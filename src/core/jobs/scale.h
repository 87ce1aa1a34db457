/* SPDX-License-Identifier: MIT */
/*
 * scale.h - how many nodes a cluster should have
 *
 * Utility, as in "Pollux", OSDI '21, section 4.2.2: the jobs' speedups over
 * one GPU, in all, by all GPUs. It falls the more nodes there are. A number of
 * nodes is looked for whose utility is near a target. More are wanted at once,
 * fewer only when no more were wanted for a while: nodes that go make jobs
 * move.
 */
#ifndef PLX_CORE_SCALE_H
#define PLX_CORE_SCALE_H

#include "core/problem/problem.h"

/* Utility of so many nodes; -1 with err set. */
typedef int (*plx_scale_ask)(void *context, int nodes, double *utility,
			     struct plx_error *err);

/*
 * The number from min to max whose utility is closest to the target; it is
 * looked for around `near` first, as the answer is mostly close to the last.
 */
int plx_scale_find(plx_scale_ask ask, void *context, double target, int min,
		   int max, int near, int *nodes, struct plx_error *err);

struct plx_scale_rule {
	int min_nodes; /* >= 0 */
	int max_nodes; /* >= min_nodes */
	double low;    /* utility is to be in this band */
	double high;
	double window_s; /* fewer are wanted after */
};

#define PLX_SCALE_PAST 32

/* What was wanted lately. Zeroed at first. */
struct plx_scaler {
	struct {
		double at_s;
		int nodes;
	} past[PLX_SCALE_PAST]; /* falling numbers, rising times */
	int count;
};

/* The most that was wanted in the window, this time included. */
int plx_scale_remember(struct plx_scaler *scaler, double window_s, double now_s,
		       int nodes);

/*
 * Nodes to have, with node_gpus each, where there are `near` now. While
 * utility is in the band, as many as now. 0, or -1 with err set and the scaler
 * as it was. *utility: of `near`.
 */
int plx_scale_decide(struct plx_scaler *scaler,
		     const struct plx_scale_rule *rule,
		     const struct plx_problem *problem, int node_gpus, int near,
		     double now_s, int *nodes, double *utility,
		     struct plx_error *err);

/*
 * Utility of the problem's jobs on so many empty nodes, when all is set up
 * for the long run: no restarts, no node that is not allowed.
 */
int plx_scale_utility(const struct plx_problem *problem, int nodes,
		      int node_gpus, double *utility, struct plx_error *err);

#endif
