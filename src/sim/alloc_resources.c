/* SPDX-License-Identifier: MIT */
/*
 * alloc_resources.c - a plan that also respects what is not GPUs
 *
 * The search knows GPUs only. So it is asked first as if there were nothing
 * else: that bounds what can be reached. While some node is asked for more
 * than it has, the job there whose replicas take most is kept from it, and
 * the search is asked again. Then all jobs are kept from nodes where they
 * would take more than an even part a GPU, so that whatever the GPUs hold
 * fits, and it is asked once more. The better plan is taken; a few mixtures
 * that would fit are not considered.
 */
#include "sim/alloc.h"

#define ROUNDS 32
#define EXCESS 1e-9 /* of what a node has: no more than rounding */

/* What is left of a node when all that is pinned there has its part. */
static double left_for_others(const struct plx_problem *problem,
			      const struct plx_kind *kind, int n, int *gpus)
{
	double left = kind->has[n];

	*gpus = problem->gpus[n];
	for (int j = 0; j < problem->job_count; j++) {
		int now = problem->jobs[j].now[n];

		if (!problem->jobs[j].pinned || now == 0)
			continue;
		left -= now * kind->needs[j];
		*gpus -= now;
	}
	return left;
}

static int forbid(struct plx_problem *problem, int j, int n,
		  struct plx_error *err)
{
	if (!problem->jobs[j].allowed &&
	    plx_problem_restrict(problem, j, err) < 0)
		return -1;
	problem->jobs[j].allowed[n] = false;
	return 0;
}

/* More than an even part a GPU is forbidden. */
static int forbid_all(struct plx_snapshot *snapshot, struct plx_error *err)
{
	struct plx_problem *problem = snapshot->problem;

	for (int k = 0; k < snapshot->kind_count; k++) {
		const struct plx_kind *kind = &snapshot->kinds[k];

		for (int n = 0; n < problem->node_count; n++) {
			int gpus;
			double left = left_for_others(problem, kind, n, &gpus);

			for (int j = 0; j < problem->job_count; j++) {
				if (kind->needs[j] * gpus > left &&
				    forbid(problem, j, n, err) < 0)
					return -1;
			}
		}
	}
	return 0;
}

/*
 * Whose replicas take most of a node that is asked for too much; -1 when it
 * is not, or by pinned jobs alone.
 */
static int heaviest(const struct plx_snapshot *snapshot,
		    const struct plx_kind *kind, const struct plx_plan *plan,
		    int n)
{
	double asked = 0;
	int found = -1;

	for (int j = 0; j < plan->job_count; j++) {
		if (plan->choices[j].gpus[n] == 0)
			continue;
		asked += plan->choices[j].gpus[n] * kind->needs[j];
		if (!snapshot->problem->jobs[j].pinned &&
		    (found < 0 || kind->needs[j] > kind->needs[found]))
			found = j;
	}
	return asked > kind->has[n] * (1 + EXCESS) ? found : -1;
}

/* Keep the heaviest from each such node. How many; -1 with err set. */
static int forbid_some(struct plx_snapshot *snapshot,
		       const struct plx_plan *plan, struct plx_error *err)
{
	int count = 0;

	for (int k = 0; k < snapshot->kind_count; k++) {
		for (int n = 0; n < plan->node_count; n++) {
			int j = heaviest(snapshot, &snapshot->kinds[k], plan,
					 n);

			if (j < 0)
				continue;
			if (forbid(snapshot->problem, j, n, err) < 0)
				return -1;
			count++;
		}
	}
	return count;
}

/* Plan until all fits. On how many nodes it still does not; -1: failed. */
static int plan_until_fit(struct plx_snapshot *snapshot,
			  const struct plx_policy *policy,
			  struct plx_plan **plan, struct plx_error *err)
{
	int excess = 1;

	for (int i = 0; i < ROUNDS && excess > 0; i++) {
		plx_plan_destroy(*plan);
		*plan = NULL;
		if (policy->plan(snapshot->problem, plan, err) < 0)
			return -1;
		excess = forbid_some(snapshot, *plan, err);
	}
	return excess;
}

/* The better of two ways to keep jobs from nodes, instead of *plan. */
static int plan_within(struct plx_snapshot *snapshot,
		       const struct plx_policy *policy, struct plx_plan **plan,
		       struct plx_error *err)
{
	/* Fewer nodes are no proof that no plan is better. */
	double bound = (*plan)->bound;
	struct plx_plan *other = NULL;
	int excess = plan_until_fit(snapshot, policy, plan, err);

	if (excess < 0 || forbid_all(snapshot, err) < 0 ||
	    policy->plan(snapshot->problem, &other, err) < 0)
		return -1;
	if (excess > 0 || other->fitness > (*plan)->fitness) {
		struct plx_plan *worse = *plan;

		*plan = other;
		other = worse;
	}
	(*plan)->bound = bound;
	plx_plan_destroy(other);
	return 0;
}

int plx_alloc_plan(struct plx_snapshot *snapshot,
		   const struct plx_policy *policy, struct plx_plan **plan,
		   struct plx_error *err)
{
	struct plx_plan *made = NULL;
	int excess;
	int rc = -1;

	if (policy->plan(snapshot->problem, &made, err) < 0)
		goto done;
	excess = forbid_some(snapshot, made, err);
	if (excess < 0 ||
	    (excess > 0 && plan_within(snapshot, policy, &made, err) < 0))
		goto done;
	*plan = made;
	made = NULL; /* now the caller's */
	rc = 0;
done:
	plx_plan_destroy(made);
	return rc;
}
