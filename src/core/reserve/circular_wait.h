/* SPDX-License-Identifier: MIT */
/*
 * circular_wait.h - a plan in which jobs wait for each other
 *
 * A job can have its new shape when all GPUs that it gains are free. Mostly
 * some job only gives, others gain what it gave, and so on to the end. But two
 * jobs may each gain a GPU that the other one holds: then nobody is ever first.
 */
#ifndef PLX_CORE_CIRCULAR_WAIT_H
#define PLX_CORE_CIRCULAR_WAIT_H

#include "core/search/plan.h"

/*
 * A job that should first shrink to what its old and its new shape share, so
 * that others can go on: the one that gives least. Where no two shapes share
 * anything, one shrinks to its least GPUs on one of its nodes. Where all have
 * just their least, one that may be parked gives up all, and comes back when
 * the others have gone. gpus[node_count] gets that shape, *other the id of a
 * job that waits for it. acts[job_count]: the job's choice will be carried
 * out. idle[node_count]: GPUs that are free, or will be without any of these
 * jobs. -1: nobody has to, or nobody can.
 */
int plx_circular_wait(const struct plx_problem *problem,
		      const struct plx_plan *plan, const bool *acts,
		      const int *idle, int *gpus, uint32_t *other);

#endif
