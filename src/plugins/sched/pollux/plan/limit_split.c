/* SPDX-License-Identifier: GPL-2.0-or-later */
/* limit_split.c - a plan that keeps to limits which jobs share */

#include <stdlib.h>
#include <string.h>

#include "sched/pollux/snapshot/snapshot_read.h"
#include "sched/pollux/plan/limit_split.h"

/* Each search settles one more limit; what is over is refused by Slurm. */
#define SEARCHES 4

static int least_of(const struct pollux_job *job)
{
	return job->options.min_gpus > 1 ? job->options.min_gpus : 1;
}

static bool is_claiming(const struct pollux_waiting *waiting)
{
	return waiting->take_count > 0 && !waiting->ignored;
}

/* The entry that speaks for a job which waits in several partitions. */
static int first_of(const struct pollux_snapshot *snapshot, int i)
{
	int first = 0;

	while (snapshot->waiting[first].id != snapshot->waiting[i].id)
		first++;
	return first;
}

static void fill_claims(const struct pollux_snapshot *snapshot,
			struct plx_draw *claims, bool *keeps)
{
	for (int i = 0; i < snapshot->waiting_count; i++) {
		const struct pollux_waiting *waiting = &snapshot->waiting[i];
		bool *kept = keeps + (size_t) i * (size_t) snapshot->job_count;

		for (int j = 0; j < snapshot->job_count; j++)
			kept[j] = snapshot->jobs[j].priority >=
					  waiting->priority ||
				  !snapshot->jobs[j].runs;
		claims[i] = (struct plx_draw){
			.take_count =
				is_claiming(waiting) ? waiting->take_count : 0,
			.demand = waiting->demand,
			.keeps = kept,
		};
	}
}

static struct plx_sharer *sharers_of(const struct pollux_snapshot *snapshot)
{
	int count = snapshot->job_count + snapshot->moldable_count;
	struct plx_sharer *sharers =
		calloc((size_t) count + 1, sizeof(*sharers));

	for (int j = 0; sharers && j < count; j++) {
		const struct pollux_job *job = &snapshot->jobs[j];

		sharers[j] = (struct plx_sharer){
			.id = job->id,
			.now = snapshot->jobs[j].has_gpus,
			.least = least_of(job),
			.fixed = !job->runs,
			.take_count = job->take_count,
			.demand = job->demand,
		};
	}
	return sharers;
}

int pollux_limit_split_claim(struct pollux_snapshot *snapshot,
			     struct plx_error *err)
{
	size_t jobs = (size_t) snapshot->job_count + 1;
	size_t count = (size_t) snapshot->waiting_count + 1;
	struct plx_sharer *sharers = sharers_of(snapshot);
	struct plx_draw *claims = calloc(count, sizeof(*claims));
	bool *keeps = calloc(count * jobs, sizeof(*keeps));
	bool *granted = calloc(count, sizeof(*granted));
	bool *parked = calloc(jobs, sizeof(*parked));
	int rc = -1;

	if (!sharers || !claims || !keeps || !granted || !parked) {
		plx_fail(err, "no memory for limits that jobs share");
		goto done;
	}
	fill_claims(snapshot, claims, keeps);
	rc = plx_limit_pool_grant(sharers, snapshot->job_count, snapshot->pools,
				  snapshot->pool_count, claims,
				  snapshot->waiting_count, granted, parked,
				  err);
	if (rc < 0)
		goto done;
	for (int i = 0; i < snapshot->waiting_count; i++)
		snapshot->waiting[i].blocked =
			snapshot->waiting[i].limited &&
			!(granted[first_of(snapshot, i)] &&
			  is_claiming(&snapshot->waiting[i]));
	for (int j = 0; j < snapshot->job_count; j++)
		snapshot->jobs[j].to_park = parked[j];
done:
	free(parked);
	free(granted);
	free(keeps);
	free(claims);
	free(sharers);
	return rc;
}

static void shut_out(struct plx_problem *problem, int j)
{
	if (problem->jobs[j].allowed && problem->jobs[j].may_park)
		memset(problem->jobs[j].allowed, 0,
		       sizeof(bool) * (size_t) problem->node_count);
}

/* What the shares leave in a pool. */
static double left_in(const struct plx_limit_pool *pools, int pool,
		      const struct plx_sharer *sharers, const int *shares,
		      int count)
{
	double left = pools[pool].available;

	for (int j = 0; j < count; j++) {
		for (int t = 0; t < sharers[j].take_count; t++) {
			if (sharers[j].demand[t].pool == pool)
				left -= sharers[j].demand[t].each * shares[j];
		}
	}
	return left;
}

/*
 * GPUs that job j may have: its share, and what nobody has of all the limits
 * that it is under. A limit of others takes nothing from it.
 */
static int cap_of(const struct pollux_snapshot *snapshot,
		  const struct plx_sharer *sharers, const int *shares,
		  int count, int j)
{
	double more = PLX_GPUS_MAX;

	for (int t = 0; t < sharers[j].take_count; t++) {
		const struct plx_take *take = &sharers[j].demand[t];
		double left;

		if (take->each <= 0)
			continue;
		left = left_in(snapshot->pools, take->pool, sharers, shares,
			       count) /
		       take->each;
		if (left < more)
			more = left;
	}
	return shares[j] + (more > 0 ? (int) (more + 1e-6) : 0);
}

/* True when a job is to have less than the plan gives it. */
static bool tighten(const struct pollux_snapshot *snapshot,
		    const struct plx_sharer *sharers, const int *shares,
		    struct plx_problem *problem)
{
	bool bound = false;

	for (int j = 0; j < problem->job_count; j++)
		bound = bound || shares[j] < sharers[j].wants;
	/* Nobody may take what is given up so. */
	for (int j = 0; bound && j < problem->job_count; j++) {
		struct plx_job *job = &problem->jobs[j];
		int cap;

		if (!sharers[j].take_count || job->fixed)
			continue;
		cap = cap_of(snapshot, sharers, shares, problem->job_count, j);
		if (shares[j] < job->min_gpus) {
			shut_out(problem, j);
		} else if (cap < job->max_gpus) {
			job->max_gpus = cap;
			job->max_by = PLX_BOUND_LIMITS;
		}
	}
	return bound;
}

/* 1: search again; 0: the plan keeps to all limits; -1: err is set. */
static int judge(const struct pollux_snapshot *snapshot,
		 struct plx_problem *problem, const struct plx_plan *plan,
		 struct plx_sharer *sharers, struct plx_error *err)
{
	int *shares = calloc((size_t) problem->job_count + 1, sizeof(*shares));
	int rc = -1;

	if (!shares)
		return plx_fail(err, "no memory for limits that jobs share");
	for (int j = 0; j < problem->job_count; j++) {
		const struct plx_job *job = &problem->jobs[j];

		sharers[j].now =
			plx_shape_of(job->now, problem->node_count).gpus;
		sharers[j].fixed = job->fixed;
		sharers[j].least = job->min_gpus;
		sharers[j].sizes = job->sizes;
		sharers[j].size_count = job->size_count;
		sharers[j].wants =
			plx_shape_of(plan->choices[j].gpus, problem->node_count)
				.gpus;
	}
	rc = plx_limit_pool_split(sharers, problem->job_count, snapshot->pools,
				  snapshot->pool_count, shares, err);
	if (rc == 0 && tighten(snapshot, sharers, shares, problem))
		rc = 1;
	free(shares);
	return rc;
}

int pollux_limit_split_search(const struct pollux_snapshot *snapshot,
			      struct plx_problem *problem,
			      struct plx_plan **plan, struct plx_error *err)
{
	struct plx_sharer *sharers = sharers_of(snapshot);
	struct plx_plan *found = NULL;
	int rc = 1;

	if (!sharers)
		return plx_fail(err, "no memory for limits that jobs share");
	for (int j = 0; j < snapshot->job_count; j++) {
		if (snapshot->jobs[j].to_park)
			shut_out(problem, j);
	}
	for (int i = 0; rc == 1 && i < SEARCHES; i++) {
		plx_plan_destroy(found);
		found = NULL;
		rc = plx_plan_search(problem, &found, err);
		if (rc == 0 && snapshot->pool_count)
			rc = judge(snapshot, problem, found, sharers, err);
	}
	free(sharers);
	if (rc < 0) {
		plx_plan_destroy(found);
		return -1;
	}
	*plan = found;
	return 0;
}

double *pollux_limit_split_left(const struct pollux_snapshot *snapshot,
				const struct plx_problem *problem)
{
	double *left = calloc((size_t) snapshot->pool_count + 1, sizeof(*left));

	for (int p = 0; left && p < snapshot->pool_count; p++)
		left[p] = snapshot->pools[p].available;
	for (int j = 0; left && j < snapshot->job_count; j++) {
		int now = snapshot->jobs[j].has_gpus;
		int then =
			plx_shape_of(problem->jobs[j].now, problem->node_count)
				.gpus;

		/* One in the middle of a resize has the larger of both. */
		now = now > then ? now : then;
		for (int t = 0; t < snapshot->jobs[j].take_count; t++)
			left[snapshot->jobs[j].demand[t].pool] -=
				now * snapshot->jobs[j].demand[t].each;
	}
	return left;
}

bool pollux_limit_split_allow(const struct pollux_snapshot *snapshot, int j,
			      int gpus, const double *left)
{
	const struct pollux_job *job = &snapshot->jobs[j];
	int more = gpus - snapshot->jobs[j].has_gpus;

	for (int t = 0; left && more > 0 && t < job->take_count; t++) {
		if (more * job->demand[t].each >
		    left[job->demand[t].pool] + 1e-6)
			return false;
	}
	return true;
}

void pollux_limit_split_spend(const struct pollux_snapshot *snapshot, int j,
			      int gpus, double *left)
{
	const struct pollux_job *job = &snapshot->jobs[j];
	int more = gpus - snapshot->jobs[j].has_gpus;

	for (int t = 0; left && more > 0 && t < job->take_count; t++)
		left[job->demand[t].pool] -= more * job->demand[t].each;
}
