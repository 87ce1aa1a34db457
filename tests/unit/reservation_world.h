/* SPDX-License-Identifier: MIT */
/* reservation_world.h - a full cluster, and one job that waits */
#ifndef PLX_RESERVATION_WORLD_H
#define PLX_RESERVATION_WORLD_H

#include "core/reserve/reservation.h"
#include "unit.h"

/* Jobs that have all GPUs of a node each, and may shrink to one. */
static inline struct plx_problem *full(int nodes, int gpus)
{
	struct plx_problem *problem = plx_problem_create(nodes, nodes, NULL);

	assert_non_null(problem);
	problem->uniform = true;
	problem->interference = true;
	for (int n = 0; n < nodes; n++) {
		struct plx_job *job = &problem->jobs[n];

		problem->gpus[n] = problem->gpus_total[n] = gpus;
		job->id = (uint32_t) (n + 1);
		job->min_gpus = 1;
		job->max_gpus = nodes * gpus;
		job->profiled_gpus = gpus;
		job->batch_host = n;
		job->now[n] = gpus;
	}
	return problem;
}

static inline bool served(struct plx_problem *problem,
			  struct plx_request request)
{
	struct plx_error err = { .text = "" };
	struct plx_grant grant = { 0 };

	if (plx_reservation_make(problem, NULL, &request, 1, &grant, &err) < 0)
		fail_msg("%s", err.text);
	return grant.granted;
}

static inline int gpus_left(const struct plx_problem *problem)
{
	int gpus = 0;

	for (int n = 0; n < problem->node_count; n++)
		gpus += problem->gpus[n];
	return gpus;
}

#endif
