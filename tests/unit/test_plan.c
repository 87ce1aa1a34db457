/* SPDX-License-Identifier: MIT */
/* test_plan.c - who gets which GPUs, and why */

#include "core/plan.h"
#include "plan_rules.h"
#include "random_problem.h"

#define ROWS_MAX 700

static const struct random_spec small = { .nodes = 3, .jobs = 3, .gpus = 4 };
static const struct random_spec calm = {
	.nodes = 3, .jobs = 3, .gpus = 4, .calm = true
};
static const struct random_spec medium = { .nodes = 5, .jobs = 8, .gpus = 4 };
static const struct random_spec hostile = {
	.nodes = 4, .jobs = 6, .gpus = 8, .hostile = true
};

/* ---- what must hold of every plan ---- */

static void check_many(const struct random_spec *spec, int count)
{
	uint64_t seed = 1;

	for (int i = 0; i < count; i++) {
		struct plx_problem *problem = random_problem(&seed, spec);
		struct plx_error err = { "" };

		if (plx_problem_check(problem, &err) == 0) {
			struct plx_plan *plan = searched(problem);

			check_plan(problem, plan);
			plx_plan_destroy(plan);
		} else if (!spec->hostile) {
			fail_msg("%s", err.text);
		}
		plx_problem_destroy(problem);
	}
}

static void a_plan_respects_every_limit(void **state)
{
	(void) state;
	check_many(&small, 3000);
	check_many(&medium, 1000);
}

static void absurd_numbers_do_no_harm(void **state)
{
	(void) state;
	check_many(&hostile, 1500);
}

/* ---- compared with all there is ---- */

/* All rows a job may have, and the value of each. */
struct rows {
	int count;
	int gpus[ROWS_MAX][3];
	double value[ROWS_MAX];
};

/* The value of a row: of a plan with p = 1 where the others have nothing. */
static double value_of(struct plx_problem *problem, int j, const int *row)
{
	size_t cells = (size_t) (problem->job_count * problem->node_count);
	int *gpus = calloc(cells, sizeof(int));
	double p = problem->fairness;
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
	return (with - none) * problem->job_count;
}

static void list_rows(struct plx_problem *problem, int j, struct rows *rows)
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

static double mean(const double *values, int count, double p)
{
	double sum = 0;
	double least = INFINITY;

	for (int j = 0; j < count; j++) {
		double x = values[j] + 1e-3;

		least = fmin(least, x);
		sum += p == 0 ? log(x) : pow(x, p);
	}
	if (isinf(p))
		return least;
	return p == 0 ? exp(sum / count) : pow(sum / count, 1 / p);
}

/* The first jobs take no more than there is. */
static bool fits_so_far(const struct plx_problem *problem, const int *gpus,
			int jobs)
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

/* The best fitness of all plans; negative when none is feasible. */
static double best_of_all(struct plx_problem *problem, struct rows *rows, int j,
			  int *gpus, double *values)
{
	double best = -1;

	if (j == problem->job_count)
		return feasible(problem, gpus)
			       ? mean(values, j, problem->fairness)
			       : -1;
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

static double brute_force(struct plx_problem *problem)
{
	static struct rows rows[3];
	double values[3];
	int gpus[9] = { 0 };

	for (int j = 0; j < problem->job_count; j++)
		list_rows(problem, j, &rows[j]);
	return best_of_all(problem, rows, 0, gpus, values);
}

static void small_plans_are_as_good_as_the_best(void **state)
{
	uint64_t seed = 7;
	int compared = 0;

	(void) state;
	for (int i = 0; i < 500; i++) {
		const struct random_spec *spec = i % 2 ? &calm : &small;
		struct plx_problem *problem = random_problem(&seed, spec);
		struct plx_plan *plan;
		double best;

		best = brute_force(problem);
		plan = searched(problem);
		if (best >= 0) {
			compared++;
			if (plan->fitness < 0.98 * best)
				fail_msg("case %d: %g, want %g (p = %g)", i,
					 plan->fitness, best,
					 problem->fairness);
			assert_true(plan->fitness <= best * 1.000001);
		}
		plx_plan_destroy(plan);
		plx_problem_destroy(problem);
	}
	assert_true(compared >= 300);
}

/* ---- the same problem, the same plan ---- */

/* The jobs in another order. */
static struct plx_problem *reversed(const struct plx_problem *problem)
{
	int jobs = problem->job_count;
	size_t nodes = (size_t) problem->node_count;
	struct plx_problem *copy =
		plx_problem_create(problem->node_count, jobs, NULL);

	assert_non_null(copy);
	copy->fairness = problem->fairness;
	copy->uniform = problem->uniform;
	copy->interference = problem->interference;
	copy->seed = problem->seed;
	memcpy(copy->gpus, problem->gpus, nodes * sizeof(int));
	memcpy(copy->gpus_total, problem->gpus_total, nodes * sizeof(int));
	for (int j = 0; j < jobs; j++) {
		const struct plx_job *job = &problem->jobs[j];
		struct plx_job *other = &copy->jobs[jobs - 1 - j];
		int *now = other->now;

		*other = *job;
		other->now = now;
		other->allowed = NULL;
		memcpy(now, job->now, nodes * sizeof(int));
		if (!job->allowed)
			continue;
		assert_int_equal(0, plx_problem_restrict(copy, jobs - 1 - j,
							 NULL));
		memcpy(other->allowed, job->allowed, nodes * sizeof(bool));
	}
	return copy;
}

static void assert_same_choice(const struct plx_problem *problem,
			       const struct plx_choice *a,
			       const struct plx_choice *b)
{
	assert_true(same_row(problem, a->gpus, b->gpus));
	assert_string_equal(a->why, b->why);
}

static void a_plan_depends_on_nothing_but_the_problem(void **state)
{
	uint64_t seed = 3;

	(void) state;
	for (int i = 0; i < 300; i++) {
		struct plx_problem *problem = random_problem(&seed, &medium);
		struct plx_problem *other = reversed(problem);
		struct plx_plan *plan = searched(problem);
		struct plx_plan *again = searched(problem);
		struct plx_plan *back = searched(other);
		int last = problem->job_count - 1;

		for (int j = 0; j <= last; j++) {
			assert_same_choice(problem, &plan->choices[j],
					   &again->choices[j]);
			assert_same_choice(problem, &plan->choices[j],
					   &back->choices[last - j]);
		}
		plx_plan_destroy(back);
		plx_plan_destroy(again);
		plx_plan_destroy(plan);
		plx_problem_destroy(other);
		plx_problem_destroy(problem);
	}
}

/* Make the plan what the jobs have. */
static void apply(struct plx_problem *problem, const struct plx_plan *plan)
{
	for (int j = 0; j < problem->job_count; j++) {
		struct plx_job *job = &problem->jobs[j];

		memcpy(job->now, plan->choices[j].gpus,
		       (size_t) problem->node_count * sizeof(int));
		job->restarts += plan->choices[j].changed;
		for (int n = 0; n < problem->node_count && job->home < 0; n++) {
			if (job->now[n] > 0)
				job->home = n;
		}
	}
}

static void a_plan_once_made_is_left_alone(void **state)
{
	const struct random_spec spec = {
		.nodes = 4, .jobs = 8, .gpus = 4, .calm = true
	};
	uint64_t seed = 9;

	(void) state;
	for (int i = 0; i < 100; i++) {
		struct plx_problem *problem = random_problem(&seed, &spec);
		struct plx_plan *plan;

		problem->fairness = -1;
		for (int j = 0; j < problem->job_count; j++) {
			problem->jobs[j].age_s = 300;
			problem->jobs[j].restart_s = 1;
			problem->jobs[j].restarts = 3;
		}
		plan = searched(problem);
		apply(problem, plan);
		plx_plan_destroy(plan);
		problem->seed++;
		plan = searched(problem);
		for (int j = 0; j < problem->job_count; j++)
			assert_false(plan->choices[j].changed);
		plx_plan_destroy(plan);
		plx_problem_destroy(problem);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_plan_respects_every_limit),
		cmocka_unit_test(absurd_numbers_do_no_harm),
		cmocka_unit_test(small_plans_are_as_good_as_the_best),
		cmocka_unit_test(a_plan_depends_on_nothing_but_the_problem),
		cmocka_unit_test(a_plan_once_made_is_left_alone),
	};

	return cmocka_run_group_tests_name("plan", tests, NULL, NULL);
}
