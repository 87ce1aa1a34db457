/* SPDX-License-Identifier: MIT */
/*
 * brute_force.h - the best plan of a small problem, from all there are
 *
 * By the rules of plan_rules.h, so independent of the search: for tests.
 */
#ifndef PLX_BRUTE_FORCE_H
#define PLX_BRUTE_FORCE_H

#include "core/problem/objective.h"
#include "plan_rules.h"

#define ROWS_MAX 125

/* All rows a job may have, and the value of each. */
struct rows {
	int count;
	int gpus[ROWS_MAX][3];
	double value[ROWS_MAX];
};

/* The value of a row: of a plan with p = 1 where the others have nothing. */
static inline double value_of(struct plx_problem *problem, int j,
			      const int *row)
{
	size_t cells = (size_t) (problem->job_count * problem->node_count);
	int *gpus = calloc(cells, sizeof(int));
	double p = problem->fairness;
	double weights = 0;
	double none;
	double with;

	assert_non_null(gpus);
	problem->fairness = 1;
	none = plx_plan_fitness(problem, gpus);
	memcpy(gpus + j * problem->node_count, row,
	       (size_t) problem->node_count * sizeof(int));
	with = plx_plan_fitness(problem, gpus);
	problem->fairness = p;
	free(gpus);
	for (int i = 0; i < problem->job_count; i++)
		weights += plx_weight(&problem->jobs[i]);
	return (with - none) * weights / plx_weight(&problem->jobs[j]);
}

static inline void list_rows(struct plx_problem *problem, int j,
			     struct rows *rows)
{
	int nodes = problem->node_count;
	int row[3] = { 0 };

	rows->count = 0;
	for (int code = 0; code < 125; code++) {
		bool fits = true;

		row[0] = code % 5;
		row[1] = code / 5 % 5;
		row[2] = code / 25;
		for (int n = 0; n < 3; n++)
			fits = fits && (n < nodes ? row[n] <= problem->gpus[n]
						  : row[n] == 0);
		if (!fits || !row_allowed(problem, &problem->jobs[j], row))
			continue;
		memcpy(rows->gpus[rows->count], row, sizeof(row));
		rows->value[rows->count++] = value_of(problem, j, row);
	}
}

static inline double mean(const struct plx_problem *problem,
			  const double *values)
{
	double p = problem->fairness;
	double sum = 0;
	double weights = 0;
	double least = INFINITY;

	for (int j = 0; j < problem->job_count; j++) {
		double x = values[j] + 1e-3;
		double weight = problem->jobs[j].weight;

		weight = weight > 0 ? weight : 1;
		weights += weight;
		least = fmin(least, x);
		sum += weight * (p == 0 ? log(x) : pow(x, p));
	}
	if (isinf(p))
		return least;
	return p == 0 ? exp(sum / weights) : pow(sum / weights, 1 / p);
}

/* The first jobs take no more than there is. */
static inline bool fits_so_far(const struct plx_problem *problem,
			       const int *gpus, int jobs)
{
	for (int n = 0; n < problem->node_count; n++) {
		int used = 0;

		for (int j = 0; j < jobs; j++)
			used += gpus[j * problem->node_count + n];
		if (used > problem->gpus[n])
			return false;
	}
	return true;
}

/* Of the jobs from j on, where the others have what `gpus` says. */
static inline double best_of_all(struct plx_problem *problem, struct rows *rows,
				 int j, int *gpus, double *values)
{
	double best = -1;

	if (j == problem->job_count)
		return feasible(problem, gpus) ? mean(problem, values) : -1;
	for (int i = 0; i < rows[j].count; i++) {
		double fitness;

		memcpy(gpus + j * problem->node_count, rows[j].gpus[i],
		       (size_t) problem->node_count * sizeof(int));
		if (!fits_so_far(problem, gpus, j + 1))
			continue;
		values[j] = rows[j].value[i];
		fitness = best_of_all(problem, rows, j + 1, gpus, values);
		best = fmax(best, fitness);
	}
	return best;
}

/*
 * The best fitness of all plans of at most 3 nodes of 4 GPUs and 3 jobs;
 * negative when none is feasible.
 */
static inline double brute_force(struct plx_problem *problem)
{
	static struct rows rows[3];
	double values[3];
	int gpus[9] = { 0 };

	for (int j = 0; j < problem->job_count; j++)
		list_rows(problem, j, &rows[j]);
	return best_of_all(problem, rows, 0, gpus, values);
}

#endif
