/* SPDX-License-Identifier: MIT */
/*
 * alloc_resources.c - a plan that also respects what is not GPUs
 *
 * The search knows GPUs only. So it is asked first as if there were nothing
 * else: that bounds what can be reached. When some node is then asked for
 * more than it has, there are two ways on. Keep all jobs from nodes where
 * they would take more than an even part a GPU, so that whatever the GPUs
 * hold fits. Or keep only the job whose replicas take most from a node that
 * is asked for too much, and search again until all fits; with another seed,
 * that ends elsewhere. The best plan is taken. A few mixtures that would fit
 * are not considered.
 */
#include <stdlib.h>
#include <string.h>

#include "sim/alloc.h"

#define ROUNDS 32
#define WAYS   9    /* the first and eight seeds of the second */
#define CLOSE  1e-4 /* to the bound: no reason to look further */
#define EXCESS 1e-9 /* of what a node has: no more than rounding */

/* What is left of a node when all that is fixed there has its part. */
static double left_for_others(const struct plx_problem *problem,
			      const struct plx_kind *kind, int n, int *gpus)
{
	double left = kind->has[n];

	*gpus = problem->gpus[n];
	for (int j = 0; j < problem->job_count; j++) {
		int now = problem->jobs[j].now[n];

		if (!problem->jobs[j].fixed || now == 0)
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
 * is not, or by fixed jobs alone.
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
		if (!snapshot->problem->jobs[j].fixed &&
		    (found < 0 || kind->needs[j] > kind->needs[found]))
			found = j;
	}
	return asked > kind->has[n] * (1 + EXCESS) ? found : -1;
}

static bool fits(const struct plx_snapshot *snapshot,
		 const struct plx_plan *plan)
{
	for (int k = 0; k < snapshot->kind_count; k++) {
		for (int n = 0; n < plan->node_count; n++) {
			if (heaviest(snapshot, &snapshot->kinds[k], plan, n) >=
			    0)
				return false;
		}
	}
	return true;
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

/* Plan until all fits; *plan stays NULL where it never does. */
static int plan_until_fit(struct plx_snapshot *snapshot,
			  const struct plx_policy *policy,
			  struct plx_plan **plan, struct plx_error *err)
{
	int excess = 1;

	for (int i = 0; i < ROUNDS && excess > 0; i++) {
		struct plx_plan *made = NULL;

		if (policy->plan(snapshot->problem, &made, err) < 0)
			return -1;
		excess = forbid_some(snapshot, made, err);
		if (excess == 0)
			*plan = made;
		else
			plx_plan_destroy(made);
	}
	return excess < 0 ? -1 : 0;
}

/* What the file allows, before anything was forbidden. */
struct rules {
	bool *allowed; /* [job_count * node_count] */
	uint64_t seed;
};

static int rules_init(struct rules *rules, const struct plx_problem *problem,
		      struct plx_error *err)
{
	size_t nodes = (size_t) problem->node_count;

	rules->seed = problem->seed;
	rules->allowed = calloc((size_t) problem->job_count * nodes + 1,
				sizeof(*rules->allowed));
	if (!rules->allowed)
		return plx_fail(err, "no memory");
	for (size_t j = 0; j < (size_t) problem->job_count; j++) {
		for (size_t n = 0; n < nodes; n++)
			rules->allowed[j * nodes + n] =
				!problem->jobs[j].allowed ||
				problem->jobs[j].allowed[n];
	}
	return 0;
}

static void rules_restore(const struct rules *rules,
			  struct plx_problem *problem)
{
	size_t nodes = (size_t) problem->node_count;

	problem->seed = rules->seed;
	for (size_t j = 0; j < (size_t) problem->job_count; j++) {
		if (problem->jobs[j].allowed)
			memcpy(problem->jobs[j].allowed,
			       rules->allowed + j * nodes,
			       nodes * sizeof(*rules->allowed));
	}
}

/* One way to make all fit, from the rules of the file on. */
static int plan_one_way(struct plx_snapshot *snapshot,
			const struct plx_policy *policy, int way,
			struct plx_plan **plan, struct plx_error *err)
{
	/* Plans of equal fitness ask for different nodes. */
	snapshot->problem->seed += (uint64_t) way;
	if (way > 0)
		return plan_until_fit(snapshot, policy, plan, err);
	if (forbid_all(snapshot, err) < 0)
		return -1;
	return policy->plan(snapshot->problem, plan, err);
}

static void keep_fitter(struct plx_plan **best, struct plx_plan *other)
{
	struct plx_plan *worse = other;

	if (other && (!*best || other->fitness > (*best)->fitness)) {
		worse = *best;
		*best = other;
	}
	plx_plan_destroy(worse);
}

/* The best of several ways; bound: of the problem without other resources. */
static int plan_within(struct plx_snapshot *snapshot,
		       const struct plx_policy *policy, double bound,
		       struct plx_plan **plan, struct plx_error *err)
{
	struct plx_problem *problem = snapshot->problem;
	struct plx_plan *best = NULL;
	struct rules rules;
	int rc = rules_init(&rules, problem, err);

	for (int way = 0; way < WAYS && rc == 0; way++) {
		struct plx_plan *made = NULL;

		if (best &&
		    (best->fitness >= bound * (1 - CLOSE) ||
		     (problem->stop && problem->stop(problem->stop_context))))
			break;
		rules_restore(&rules, problem);
		rc = plan_one_way(snapshot, policy, way, &made, err);
		keep_fitter(&best, made);
	}
	if (rc == 0) {
		rules_restore(&rules, problem);
		/* Fewer nodes are no proof that no plan is better. */
		best->bound = bound;
		*plan = best;
		best = NULL; /* now the caller's */
	}
	plx_plan_destroy(best);
	free(rules.allowed);
	return rc;
}

int plx_alloc_plan(struct plx_snapshot *snapshot,
		   const struct plx_policy *policy, struct plx_plan **plan,
		   struct plx_error *err)
{
	struct plx_plan *made = NULL;
	double bound;

	if (policy->plan(snapshot->problem, &made, err) < 0)
		return -1;
	if (fits(snapshot, made)) {
		*plan = made;
		return 0;
	}
	bound = made->bound;
	plx_plan_destroy(made);
	return plan_within(snapshot, policy, bound, plan, err);
}
