/* SPDX-License-Identifier: MIT */
/*
 * osdi21.h - the objective of the published scheduler, quirks included
 *
 * For problems recorded from it, so that values compare: its own search for
 * a batch, its fair share, and its restart factor. Everything here follows
 * the artifact of Qiao et al., "Pollux", OSDI '21, even where
 * core/problem/objective.h knows better. Pure; any thread may call it at any
 * time.
 */
#ifndef PLX_CORE_OSDI21_H
#define PLX_CORE_OSDI21_H

#include "core/base/error.h"
#include "core/model/goodput.h"
#include "core/problem/problem.h"

/* A re-allocation costs so much there, whatever the job. */
#define PLX_OSDI21_RESTART_S 30.0

/*
 * The best of 50 batches in a geometric row, and its goodput; 0 when none is
 * possible. May pass max_batch, as published. best may be NULL.
 */
double plx_osdi21_goodput(const struct plx_goodput *job, struct plx_shape shape,
			  struct plx_batch *best);

/*
 * What a speedup is relative to. dominant_share: the largest share of any
 * resource of the cluster that one replica takes, > 0. nodes may exceed gpus.
 */
struct plx_shape plx_osdi21_fair_share(double dominant_share, int jobs,
				       int nodes);

/* Share of its speedup that a job keeps when it is re-allocated, 0 to 1. */
double plx_osdi21_restart_factor(double age_s, int restarts);

/*
 * Give every job of a problem, filled otherwise, its table: plx_plan_search()
 * then maximises the published objective. dominant_share: [job_count], or
 * NULL when replicas take nothing but a GPU of gpus_total. A job without a
 * profile is linear, relative to the fair share of the last job. Hysteresis is
 * set to 0.
 */
int plx_osdi21_tables(struct plx_problem *problem, const double *dominant_share,
		      struct plx_error *err);

#endif
