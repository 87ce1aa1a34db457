/* SPDX-License-Identifier: MIT */
/*
 * timeline.h - when a job that cannot start now could; for core/ only
 *
 * What backfill does: who waits longest is promised nodes for the time at
 * which the jobs that run there have ended, and nobody who comes later in the
 * queue may run there into that time. Elastic jobs count as if they were as
 * small as they may be, so nothing is kept idle for a promise.
 */
#ifndef PLX_CORE_TIMELINE_H
#define PLX_CORE_TIMELINE_H

#include "core/reserve/reservation.h"

struct plx_timeline;

/*
 * Jobs and free GPUs as the problem and residual have them before any room is
 * taken; both are borrowed. Promises for `count` requests fit. NULL with err
 * set.
 */
struct plx_timeline *plx_timeline_create(const struct plx_problem *problem,
					 const struct plx_residual *residual,
					 const struct plx_request *requests,
					 int count, struct plx_error *err);
void plx_timeline_destroy(struct plx_timeline *timeline); /* accepts NULL */

/* The request starts now, and has so many GPUs of the node until its end. */
void plx_timeline_start(struct plx_timeline *timeline,
			const struct plx_request *request, int node, int gpus);

/* Would it have left the node before somebody else was promised it? */
bool plx_timeline_open(const struct plx_timeline *timeline,
		       const struct plx_request *request, int node);

/* Is the node somebody's within residual->soon_s? */
bool plx_timeline_soon(const struct plx_timeline *timeline, int node);

/*
 * Promise the request its nodes for the first time at which it could start,
 * and mark them in nodes[node_count], which may be NULL.
 * Seconds from now; INFINITY: none within the window, nothing is promised.
 */
double plx_timeline_promise(struct plx_timeline *timeline,
			    const struct plx_request *request, bool *nodes);

#endif
