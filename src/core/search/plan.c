/* SPDX-License-Identifier: MIT */
/*
 * plan.c - problem in, plan out
 *
 * The search itself is in search_*.c. Here its result becomes a plan, and
 * the promise is kept that no plan is worse than leaving all as it is.
 */
#include <math.h>
#include <stdlib.h>

#include "core/search/plan.h"
#include "core/search/search.h"

#define ROUNDING 1e-9 /* of long sums */

static bool row_changed(const struct plx_job *job, const int *row,
			int node_count)
{
	for (int n = 0; n < node_count; n++) {
		if (row[n] != job->now[n])
			return true;
	}
	return false;
}

/* The value of a row of counts to its job. */
static double row_value(const struct plx_problem *problem,
			const struct plx_job *job, const int *row)
{
	struct plx_yardstick fair = plx_fair_share(problem, job);

	return plx_job_value(job, &fair,
			     plx_shape_on(row, problem->node_count,
					  problem->switches),
			     row_changed(job, row, problem->node_count));
}

/* A job's part in the mean. */
struct term {
	double x; /* its value, and the floor */
	double weight;
};

/* The power mean, scaled by its largest term so that no power overflows. */
static double power_mean(const struct term *terms, int count, double p)
{
	double edge = terms[0].x;
	double sum = 0;
	double weights = 0;

	for (int j = 0; j < count; j++) {
		edge = p > 0 ? fmax(edge, terms[j].x) : fmin(edge, terms[j].x);
		weights += terms[j].weight;
	}
	if (isinf(p))
		return edge;
	if (fabs(p) < PLX_FAIRNESS_TINY) {
		for (int j = 0; j < count; j++)
			sum += terms[j].weight * log(terms[j].x);
		return exp(sum / weights);
	}
	for (int j = 0; j < count; j++)
		sum += terms[j].weight * pow(terms[j].x / edge, p);
	return edge * pow(sum / weights, 1 / p);
}

double plx_plan_fitness(const struct plx_problem *problem, const int *gpus)
{
	size_t count = (size_t) problem->job_count;
	struct term *terms;
	double fitness;

	if (count == 0)
		return 0;
	terms = calloc(count, sizeof(*terms));
	if (!terms)
		return -1;
	for (size_t j = 0; j < count; j++) {
		const struct plx_job *job = &problem->jobs[j];
		const int *row = gpus + j * (size_t) problem->node_count;

		terms[j].x = row_value(problem, job, row) + PLX_SPEEDUP_FLOOR;
		terms[j].weight = plx_weight(job);
	}
	fitness = power_mean(terms, problem->job_count, problem->fairness);
	free(terms);
	return fitness;
}

/* All choices share one block of counts, the first one's. */
static struct plx_plan *plan_create(const struct plx_problem *problem,
				    struct plx_error *err)
{
	size_t jobs = (size_t) problem->job_count;
	size_t nodes = (size_t) problem->node_count;
	struct plx_plan *plan = calloc(1, sizeof(*plan));
	int *gpus = calloc(jobs * nodes + 1, sizeof(*gpus));

	if (plan)
		plan->choices = calloc(jobs + 1, sizeof(*plan->choices));
	if (!plan || !gpus || !plan->choices) {
		plx_fail(err, "no memory for a plan of %zu jobs", jobs);
		free(gpus);
		if (plan)
			free(plan->choices);
		free(plan);
		return NULL;
	}
	plan->job_count = problem->job_count;
	plan->node_count = problem->node_count;
	plan->choices[0].gpus = gpus;
	for (size_t j = 1; j < jobs; j++)
		plan->choices[j].gpus = gpus + j * nodes;
	return plan;
}

void plx_plan_destroy(struct plx_plan *plan)
{
	if (!plan)
		return;
	free(plan->choices[0].gpus);
	free(plan->choices);
	free(plan);
}

static void plan_fill(struct plx_plan *plan, const struct plx_search *search)
{
	for (int j = 0; j < search->job_count; j++) {
		const struct plx_search_job *e = &search->jobs[j];
		struct plx_choice *choice = &plan->choices[e->index];

		for (int n = 0; n < plan->node_count; n++)
			choice->gpus[n] = 0;
		for (int i = 0; i < e->at.count; i++)
			choice->gpus[e->at.slots[i].node] = e->at.slots[i].gpus;
		choice->shape = plx_search_shape(search, &e->at);
		choice->speedup = plx_alike_speedup(e, choice->shape);
		choice->changed = !plx_placement_equal(&e->at, &e->now);
	}
}

static bool any_change(const struct plx_search *search)
{
	for (int j = 0; j < search->job_count; j++) {
		if (!plx_placement_equal(&search->jobs[j].at,
					 &search->jobs[j].now))
			return true;
	}
	return false;
}

/* FITNESS_p of the plan that the search has, or of what jobs have now. */
static double search_fitness(const struct plx_search *search, bool now)
{
	size_t count = (size_t) search->job_count;
	struct term *terms;
	double fitness;

	if (count == 0)
		return 0;
	terms = calloc(count, sizeof(*terms));
	if (!terms)
		return -1;
	for (size_t j = 0; j < count; j++) {
		const struct plx_search_job *e = &search->jobs[j];
		double value = e->now_value;

		if (!now && !plx_placement_equal(&e->at, &e->now))
			value = plx_job_value(e->job, &e->fair,
					      plx_search_shape(search, &e->at),
					      true);
		terms[j].x = value + PLX_SPEEDUP_FLOOR;
		terms[j].weight = plx_weight(e->job);
	}
	fitness =
		power_mean(terms, search->job_count, search->problem->fairness);
	free(terms);
	return fitness;
}

/* What fitness the bound on the sum of utilities allows. */
static double fitness_bound(const struct plx_search *search)
{
	double p = search->fairness;
	double sum = search->bound_truly;
	double most = 0;
	double weights = 0;

	for (int j = 0; j < search->job_count; j++) {
		weights += plx_job_weight(search, &search->jobs[j]);
		most = fmax(most, plx_search_most(search, &search->jobs[j]));
	}
	if (weights <= 0)
		return 0;
	if (fabs(p) < PLX_FAIRNESS_TINY)
		most = fmin(most, exp(sum / weights));
	else if (p > 0 ? sum >= 0 : sum < 0)
		most = fmin(most, pow(fabs(sum) / weights, 1 / p));
	if (isinf(search->problem->fairness))
		most = plx_search_worst(search, most);
	return most * (1 + ROUNDING);
}

static int make_plan(struct plx_plan *plan, struct plx_search *search,
		     struct plx_error *err)
{
	bool now_feasible;

	plx_search_repair(search);
	now_feasible = !any_change(search);
	plx_search_bound(search);
	plx_search_improve(search);
	if (search->problem->uniform && search->problem->idle)
		plx_search_idle(search);
	plx_search_exchange(search);
	plan_fill(plan, search);
	plan->fitness_now = search_fitness(search, true);
	plan->fitness = search_fitness(search, false);
	if (plan->fitness < 0 || plan->fitness_now < 0)
		return plx_fail(err, "no memory to judge the plan");
	/* The search's own measure differs a little, see search_candidates.c.
	 */
	if (now_feasible && plan->fitness < plan->fitness_now) {
		plx_search_repair(search);
		plan_fill(plan, search);
		plan->fitness = plan->fitness_now;
	}
	/*
	 * A count that was not asked for may be worth a little more than the
	 * next larger one, which stood for it.
	 */
	plan->bound = fmax(fitness_bound(search), plan->fitness);
	for (int j = 0; j < search->job_count; j++)
		plx_search_why(search, &search->jobs[j],
			       plan->choices[search->jobs[j].index].why,
			       PLX_PLAN_WHY);
	return 0;
}

int plx_plan_search(const struct plx_problem *problem, struct plx_plan **plan,
		    struct plx_error *err)
{
	struct plx_search *search = NULL;
	struct plx_plan *made = NULL;
	int rc = -1;

	if (plx_problem_check(problem, err) < 0)
		goto done;
	search = plx_search_create(problem, err);
	if (!search)
		goto done;
	made = plan_create(problem, err);
	if (!made || make_plan(made, search, err) < 0)
		goto done;
	*plan = made;
	made = NULL; /* now the caller's */
	rc = 0;
done:
	plx_plan_destroy(made);
	plx_search_destroy(search);
	return rc;
}
