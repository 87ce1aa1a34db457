/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * moldable_plan.h - moldable jobs in the plan
 *
 * One that waits is a job of the problem without any GPU. It takes part once
 * there is room for its smallest shape, found in the order of priorities as
 * for any waiting job: that room is given back to the problem, and the search
 * says in which shape it starts. One that runs may be given any shape, like a
 * job that is moved as a whole; pollux_moldable_settle() pins those for which
 * the plan's is not worth a requeue, and the search is run again.
 *
 * No lock, no Slurm.
 */
#ifndef SCHED_POLLUX_MOLDABLE_PLAN_H
#define SCHED_POLLUX_MOLDABLE_PLAN_H

#include "core/jobs/moldable.h"
#include "core/search/plan.h"
#include "sched/pollux/plan/snapshot_problem.h"

/* After so many searches, those that are not settled are left as they are. */
#define POLLUX_MOLDABLE_SEARCHES 3

/* What is known of a running job, for core/jobs/moldable.h. */
struct plx_moldable pollux_moldable_of(const struct pollux_snapshot *snapshot,
				       const struct pollux_job *job,
				       const struct pollux_params *params);

/* Hold the job where it may not be requeued, whatever for. */
void pollux_moldable_hold(struct pollux_job_input *input);

/* What is different from other elastic jobs; j as in the snapshot. */
void pollux_moldable_fill(const struct pollux_snapshot *snapshot, int j,
			  const struct pollux_job_input *input,
			  struct plx_job *job);

/* Is it to stay as it is? As long as its time limit, then. */
bool pollux_moldable_is_fixed(const struct pollux_job *job,
			      const struct plx_job *planned);
/* Nodes that such jobs have, in all. */
int pollux_moldable_alloc_count(const struct pollux_snapshot *snapshot,
				const struct plx_problem *problem);

/*
 * Room was made: waiting ones that have some take part. reservations->displaces
 * is set; the grants of those jobs do not displace any more, as the plan does.
 */
void pollux_moldable_grant(const struct pollux_snapshot *snapshot,
			   struct plx_problem *problem,
			   struct pollux_reservations *reservations);

/*
 * True when something of the plan will not be done, so that it is worth
 * another search: the problem, inputs and reservations are changed
 * accordingly.
 */
bool pollux_moldable_settle(const struct pollux_snapshot *snapshot,
			    const struct plx_plan *plan,
			    struct plx_problem *problem,
			    struct pollux_job_input *inputs,
			    struct pollux_reservations *reservations);

#endif
