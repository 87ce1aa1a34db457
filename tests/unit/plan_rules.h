/* SPDX-License-Identifier: MIT */
/*
 * plan_rules.h - what an allocation must respect, written a second time
 *
 * Independent of the search, and slow: for tests.
 */
#ifndef PLX_PLAN_RULES_H
#define PLX_PLAN_RULES_H

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "core/search/plan.h"
#include "core/problem/problem.h"
#include "unit.h"

static inline struct plx_plan *searched(const struct plx_problem *problem)
{
	struct plx_plan *plan = NULL;
	struct plx_error err = { .text = "" };

	if (plx_plan_search(problem, &plan, &err) < 0)
		fail_msg("%s", err.text);
	return plan;
}

static inline struct plx_shape shape_of(const struct plx_problem *problem,
					const int *row)
{
	struct plx_shape shape = { 0 };

	for (int n = 0; n < problem->node_count; n++) {
		shape.nodes += row[n] > 0;
		shape.gpus += row[n];
	}
	return shape;
}

/* On how many switches a row is; 0: nothing is known of them. */
static inline int switches_of(const struct plx_problem *problem, const int *row)
{
	int count = 0;

	for (int s = 0; problem->switches && s < problem->node_count; s++) {
		bool used = false;

		for (int n = 0; n < problem->node_count; n++)
			used = used ||
			       (row[n] > 0 && problem->switches[n] == s);
		count += used;
	}
	return count;
}

static inline bool same_row(const struct plx_problem *problem, const int *a,
			    const int *b)
{
	return memcmp(a, b, (size_t) problem->node_count * sizeof(int)) == 0;
}

static inline bool size_listed(const struct plx_job *job, int gpus)
{
	for (int i = 0; i < job->size_count; i++) {
		if (job->sizes[i] == gpus)
			return true;
	}
	return job->size_count == 0;
}

/* The next of its sizes above so many; 0: none. */
static inline int size_above(const struct plx_job *job, int gpus)
{
	for (int i = 0; i < job->size_count; i++) {
		if (job->sizes[i] > gpus)
			return job->sizes[i];
	}
	return 0;
}

static inline int at_most(const struct plx_job *job, int now)
{
	long cap = 2L * job->profiled_gpus;

	if (job->table)
		return job->table->gpus < job->max_gpus ? job->table->gpus
							: job->max_gpus;
	cap = cap > job->min_gpus ? cap : job->min_gpus;
	if (size_above(job, job->profiled_gpus) > cap)
		cap = size_above(job, job->profiled_gpus);
	cap = cap > now ? cap : now;
	return (int) (cap < job->max_gpus ? cap : job->max_gpus);
}

/* The row respects the job's own limits; the node's are another matter. */
static inline bool row_allowed(const struct plx_problem *problem,
			       const struct plx_job *job, const int *row)
{
	struct plx_shape shape = shape_of(problem, row);
	bool kept = same_row(problem, row, job->now);
	int now = shape_of(problem, job->now).gpus;

	if (job->fixed)
		return kept;
	if (shape.gpus == 0)
		return job->may_park || kept;
	if (shape.gpus < job->min_gpus || !size_listed(job, shape.gpus))
		return false;
	if (shape.gpus > (kept ? job->max_gpus : at_most(job, now)))
		return false;
	if (job->table && !kept && shape.nodes > job->table->nodes)
		return false;
	if (job->batch_host >= 0 && row[job->batch_host] == 0 &&
	    (!job->roams || (job->max_nodes && shape.nodes >= job->max_nodes)))
		return false;
	if (shape.nodes < job->min_nodes ||
	    (job->max_nodes && shape.nodes > job->max_nodes))
		return false;
	if (job->max_switches && switches_of(problem, row) > job->max_switches)
		return false;
	for (int n = 0; n < problem->node_count; n++) {
		bool batch_host =
			n == job->batch_host && !job->roams && job->now[n] > 0;

		if (job->required && job->required[n] && row[n] == 0)
			return false;
		if (job->node_gpus && row[n] > job->node_gpus)
			return false;
		if (job->whole && row[n] && row[n] != job->node_gpus)
			return false;
		if (row[n] == 0)
			continue;
		if (problem->uniform &&
		    !(problem->idle && job->batch_host >= 0) &&
		    row[n] * shape.nodes != shape.gpus)
			return false;
		if (!batch_host && job->allowed && !job->allowed[n])
			return false;
	}
	return true;
}

/* What so many GPUs of job j, or its script, take of consumables[i]. */
static inline double job_demand(const struct plx_problem *problem, int j, int i,
				int gpus)
{
	const struct plx_job *job = &problem->jobs[j];
	int kind = i % problem->consumable_kinds;
	double demand = job->demand ? gpus * job->demand[kind] : 0;

	if (job->batch_host_demand &&
	    job->batch_host == i / problem->consumable_kinds)
		demand = fmax(demand, job->batch_host_demand[kind]);
	return demand;
}

static inline bool supplied(const struct plx_problem *problem, const int *gpus)
{
	int kinds = problem->consumable_kinds;

	for (int i = 0; i < problem->node_count * kinds; i++) {
		double left = problem->consumables[i] * (1 + 1e-6);

		for (int j = 0; j < problem->job_count; j++) {
			int at = j * problem->node_count + i / kinds;

			left -= job_demand(problem, j, i, gpus[at]);
		}
		if (left < 0)
			return false;
	}
	return true;
}

/* Rows of all jobs, one after the other. */
static inline bool feasible(const struct plx_problem *problem, const int *gpus)
{
	for (int n = 0; n < problem->node_count; n++) {
		int used = 0;
		int multi = 0;

		for (int j = 0; j < problem->job_count; j++) {
			const int *row = gpus + j * problem->node_count;

			used += row[n];
			multi += row[n] > 0 && shape_of(problem, row).nodes > 1;
		}
		if (used > problem->gpus[n] ||
		    (problem->interference && multi > 1))
			return false;
	}
	for (int j = 0; j < problem->job_count; j++) {
		if (!row_allowed(problem, &problem->jobs[j],
				 gpus + j * problem->node_count))
			return false;
	}
	return supplied(problem, gpus);
}

/* ---- the whole plan, with complaints ---- */

/* Nobody on this node could have been asked to go. */
static inline bool all_immovable(const struct plx_problem *problem,
				 const struct plx_plan *plan, int n,
				 bool multi_only)
{
	for (int j = 0; j < problem->job_count; j++) {
		const struct plx_choice *choice = &plan->choices[j];

		if (choice->gpus[n] == 0 ||
		    (multi_only && choice->shape.nodes < 2))
			continue;
		if (choice->changed ||
		    (!problem->jobs[j].fixed && problem->jobs[j].may_park))
			return false;
	}
	return true;
}

/* No more of any other resource than the node has. */
static inline void check_consumables(const struct plx_problem *problem,
				     const struct plx_plan *plan)
{
	int kinds = problem->consumable_kinds;

	for (int i = 0; i < problem->node_count * kinds; i++) {
		double taken = 0;

		for (int j = 0; j < problem->job_count; j++) {
			taken += job_demand(problem, j, i,
					    plan->choices[j].gpus[i / kinds]);
		}
		if (taken > problem->consumables[i] * (1 + 1e-6))
			assert_true(
				all_immovable(problem, plan, i / kinds, false));
	}
}

static inline void check_nodes(const struct plx_problem *problem,
			       const struct plx_plan *plan)
{
	for (int n = 0; n < problem->node_count; n++) {
		int used = 0;
		int multi = 0;

		for (int j = 0; j < problem->job_count; j++) {
			const struct plx_choice *choice = &plan->choices[j];

			used += choice->gpus[n];
			multi += choice->gpus[n] > 0 && choice->shape.nodes > 1;
		}
		if (used > problem->gpus[n])
			assert_true(all_immovable(problem, plan, n, false));
		if (problem->interference && multi > 1)
			assert_true(all_immovable(problem, plan, n, true));
	}
}

static inline int *now_of(const struct plx_problem *problem)
{
	int *gpus = calloc((size_t) (problem->job_count * problem->node_count),
			   sizeof(int));

	assert_non_null(gpus);
	for (int j = 0; j < problem->job_count; j++)
		memcpy(gpus + j * problem->node_count, problem->jobs[j].now,
		       (size_t) problem->node_count * sizeof(int));
	return gpus;
}

static inline void check_plan(const struct plx_problem *problem,
			      const struct plx_plan *plan)
{
	int *now = now_of(problem);

	for (int j = 0; j < problem->job_count; j++) {
		const struct plx_job *job = &problem->jobs[j];
		const struct plx_choice *choice = &plan->choices[j];

		assert_int_equal(choice->changed,
				 !same_row(problem, choice->gpus, job->now));
		if (choice->changed)
			assert_true(row_allowed(problem, job, choice->gpus));
		assert_int_equal(choice->shape.gpus,
				 shape_of(problem, choice->gpus).gpus);
		assert_true(isfinite(choice->speedup) && choice->speedup >= 0);
		assert_true(strlen(choice->why) > 5);
		assert_null(strpbrk(choice->why, "\n[]"));
	}
	check_nodes(problem, plan);
	check_consumables(problem, plan);
	assert_true(isfinite(plan->fitness) && isfinite(plan->fitness_now));
	/* That no plan is above it, test_plan_best.c and test_ga.c try. */
	assert_true(isfinite(plan->bound));
	if (feasible(problem, now))
		assert_true(plan->fitness >= plan->fitness_now);
	free(now);
}

#endif
