/* SPDX-License-Identifier: MIT */
/*
 * plan.c - problem in, plan out
 *
 * The search itself is in search_*.c. Here its result becomes a plan, and
 * the promise is kept that no plan is worse than leaving all as it is.
 */
#include <math.h>
#include <stdlib.h>

#include "core/plan.h"
#include "core/search.h"

static struct plx_shape row_shape(const int *row, int node_count)
{
	struct plx_shape shape = { .nodes = 0, .gpus = 0 };

	for (int n = 0; n < node_count; n++) {
		shape.nodes += row[n] > 0;
		shape.gpus += row[n];
	}
	return shape;
}

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

	return plx_worth(job, &fair, row_shape(row, problem->node_count),
			 row_changed(job, row, problem->node_count));
}

/* The power mean, scaled by its largest term so that no power overflows. */
static double power_mean(const double *x, int count, double p)
{
	double edge = x[0];
	double sum = 0;

	for (int j = 1; j < count; j++)
		edge = p > 0 ? fmax(edge, x[j]) : fmin(edge, x[j]);
	if (isinf(p))
		return edge;
	if (fabs(p) < PLX_FAIRNESS_TINY) {
		for (int j = 0; j < count; j++)
			sum += log(x[j]);
		return exp(sum / count);
	}
	for (int j = 0; j < count; j++)
		sum += pow(x[j] / edge, p);
	return edge * pow(sum / count, 1 / p);
}

/* gpus NULL: what jobs have now. Negative: no memory. */
static double fitness_of(const struct plx_problem *problem, const int *gpus)
{
	size_t count = (size_t) problem->job_count;
	double *values;
	double fitness;

	if (count == 0)
		return 0;
	values = calloc(count, sizeof(*values));
	if (!values)
		return -1;
	for (size_t j = 0; j < count; j++) {
		const struct plx_job *job = &problem->jobs[j];
		const int *row = gpus ? gpus + j * (size_t) problem->node_count
				      : job->now;

		values[j] = row_value(problem, job, row) + PLX_SPEEDUP_FLOOR;
	}
	fitness = power_mean(values, problem->job_count, problem->fairness);
	free(values);
	return fitness;
}

double plx_plan_fitness(const struct plx_problem *problem, const int *gpus)
{
	return fitness_of(problem, gpus);
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
		const struct plx_elastic *e = &search->jobs[j];
		struct plx_choice *choice = &plan->choices[e->index];

		for (int n = 0; n < plan->node_count; n++)
			choice->gpus[n] = 0;
		for (int i = 0; i < e->at.count; i++)
			choice->gpus[e->at.spots[i].node] = e->at.spots[i].gpus;
		choice->shape = plx_seat_shape(&e->at);
		choice->speedup = plx_speedup(e->job, &e->fair, choice->shape);
		choice->changed = !plx_seat_equal(&e->at, &e->now);
	}
}

static bool any_change(const struct plx_search *search)
{
	for (int j = 0; j < search->job_count; j++) {
		if (!plx_seat_equal(&search->jobs[j].at, &search->jobs[j].now))
			return true;
	}
	return false;
}

static int make_plan(struct plx_plan *plan, struct plx_search *search,
		     struct plx_error *err)
{
	const struct plx_problem *problem = search->problem;
	bool now_feasible;

	plx_search_repair(search);
	now_feasible = !any_change(search);
	plx_search_improve(search);
	plan_fill(plan, search);
	plan->fitness_now = fitness_of(problem, NULL);
	plan->fitness = fitness_of(problem, plan->choices[0].gpus);
	if (plan->fitness < 0 || plan->fitness_now < 0)
		return plx_fail(err, "no memory to judge the plan");
	/* The search's own measure differs a little, see search_menu.c. */
	if (now_feasible && plan->fitness < plan->fitness_now) {
		plx_search_repair(search);
		plan_fill(plan, search);
		plan->fitness = plan->fitness_now;
	}
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
