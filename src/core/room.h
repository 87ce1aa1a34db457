/* SPDX-License-Identifier: MIT */
/*
 * room.h - keep GPUs back for jobs that wait for Slurm to start them
 *
 * Elastic jobs fill the cluster; a job that Slurm is about to start (rigid,
 * or elastic in its smallest shape) would wait for ever. Before the search,
 * its GPUs are taken out of problem->gpus, on the nodes where that displaces
 * least, so the search makes elastic jobs smaller.
 */
#ifndef PLX_CORE_ROOM_H
#define PLX_CORE_ROOM_H

#include "core/error.h"
#include "core/problem.h"

struct plx_request {
	uint32_t id;
	int nodes;	     /* nodes it wants, >= 1 */
	int gpus_per_node;   /* >= 0; a job without GPUs needs no room */
	bool whole_nodes;    /* --exclusive: all GPUs of its nodes */
	const bool *allowed; /* [node_count], borrowed; NULL: all */
	/*
	 * [job_count] of the problem, borrowed: elastic jobs it may not park
	 * (their priority is higher, or they may not be parked); NULL: all.
	 */
	const bool *keeps;
};

/*
 * Take room for the requests, in the order given (Slurm's priority order),
 * out of problem->gpus. granted[i] says which found room. A request that
 * cannot be served even when elastic jobs are as small as allowed takes
 * nothing. Never leaves a pinned job or one in `keeps` without its minimum.
 */
int plx_room_reserve(struct plx_problem *problem,
		     const struct plx_request *requests, int count,
		     bool *granted, struct plx_error *err);

#endif
