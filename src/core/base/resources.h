/* SPDX-License-Identifier: MIT */
/*
 * resources.h - GPUs, CPUs and memory as one vector
 *
 * Of a node, or of what somebody has or wants of it. INFINITY: there is so much
 * that it does not matter. What is counted besides, and which kinds there are,
 * differs by cluster: types of GPUs and what limits allow are `consumables` of
 * a problem, licences the `pools` of a residual. Plain data; any thread.
 */
#ifndef PLX_CORE_RESOURCES_H
#define PLX_CORE_RESOURCES_H

#include <stdbool.h>

enum plx_resource { PLX_GPUS, PLX_CPUS, PLX_MEMORY, PLX_RESOURCES };

struct plx_resources {
	union {
		struct {
			double gpus;
			double cpus;
			double memory; /* MB */
		};
		double of[PLX_RESOURCES]; /* the same, by enum plx_resource */
	};
};

/* What somebody has of a node. */
struct plx_node_alloc {
	int node;
	bool elastic; /* the least that a job of a problem has */
	struct plx_resources has;
	double ends_s; /* from now; where nobody asks for that: 0 */
};

/* So many times as much is added; negative: it is taken away. */
static inline void plx_resources_add(struct plx_resources *to,
				     const struct plx_resources *more,
				     double times)
{
	for (int k = 0; k < PLX_RESOURCES; k++)
		to->of[k] += times * more->of[k];
}

/* No less of any than this. */
static inline void plx_resources_raise(struct plx_resources *to,
				       const struct plx_resources *least)
{
	for (int k = 0; k < PLX_RESOURCES; k++) {
		if (to->of[k] < least->of[k])
			to->of[k] = least->of[k];
	}
}

/* As much of it as goes with so many of its GPUs; where it has none: all. */
static inline struct plx_resources plx_resources_part(
	const struct plx_resources *all, int gpus)
{
	struct plx_resources part;

	for (int k = 0; k < PLX_RESOURCES; k++)
		part.of[k] = all->gpus > 0 ? all->of[k] * gpus / all->gpus
					   : all->of[k];
	part.gpus = gpus;
	return part;
}

/* Is there as much of each? Not of what is no number. */
static inline bool plx_resources_fit(const struct plx_resources *wanted,
				     const struct plx_resources *left)
{
	return left->gpus >= wanted->gpus && left->cpus >= wanted->cpus &&
	       left->memory >= wanted->memory;
}

#endif
