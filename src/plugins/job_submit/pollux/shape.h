/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * shape.h - the shape an elastic job starts in
 *
 * The same number of GPUs on each node, on as few nodes as possible. Pure.
 */
#ifndef POLLUX_JOB_SUBMIT_SHAPE_H
#define POLLUX_JOB_SUBMIT_SHAPE_H

#include <stdint.h>

#include "core/base/error.h"
#include "core/records/options.h"

/* What the user asked of Slurm itself; 0: left to us. */
struct shape_request {
	uint32_t min_nodes;
	uint32_t max_nodes;
	uint32_t gpus;		/* --gpus: in all */
	uint32_t gpus_per_node; /* --gres, --gpus-per-node */
	bool whole;	  /* it has nodes for itself, with all their GPUs */
	const char *type; /* of GPU; NULL and "": any */
};

/* What there is, of that type. */
struct shape_cluster {
	uint32_t nodes; /* with at least one GPU */
	uint32_t gpus;	/* of the largest node */
};

struct shape {
	uint32_t nodes;
	uint32_t gpus_per_node;
};

/* Choose. -1 with the sentence for the user when there is none. */
int shape_choose(const struct plx_options *options,
		 const struct shape_request *request,
		 const struct shape_cluster *cluster, struct shape *shape,
		 struct plx_error *err);

#endif
