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

static struct plx_plan *searched(const struct plx_problem *problem)
{
	struct plx_plan *plan = NULL;
	struct plx_error err = { "" };

	if (plx_plan_search(problem, &plan, &err) < 0)
		fail_msg("%s", err.text);
	return plan;
}

/* ---- what must hold of every plan ---- */

/* Nobody on this node could have been asked to go. */
static bool all_immovable(const struct plx_problem *problem,
			  const struct plx_plan *plan, int n, bool multi_only)
{
	for (int j = 0; j < problem->job_count; j++) {
		const struct plx_choice *choice = &plan->choices[j];

		if (choice->gpus[n] == 0 ||
		    (multi_only && choice->shape.nodes < 2))
			continue;
		if (choice->changed ||
		    (!problem->jobs[j].pinned && problem->jobs[j].may_park))
			return false;
	}
	return true;
}

static void check_nodes(const struct plx_problem *problem,
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

static int *now_of(const struct plx_problem *problem)
{
	int *gpus = calloc((size_t) (problem->job_count * problem->node_count),
			   sizeof(int));

	assert_non_null(gpus);
	for (int j = 0; j < problem->job_count; j++)
		memcpy(gpus + j * problem->node_count, problem->jobs[j].now,
		       (size_t) problem->node_count * sizeof(int));
	return gpus;
}

static void check_plan(const struct plx_problem *problem,
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
	assert_true(isfinite(plan->fitness) && isfinite(plan->fitness_now));
	if (feasible(problem, now))
		assert_true(plan->fitness >= plan->fitness_now);
	free(now);
}

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

/* ---- single situations ---- */

/* Scales well: a pass of 1 ms a sample, gradients all noise. */
static const struct plx_goodput noisy = {
	.model = { .alpha_c = 1e-3,
		   .beta_c = 1e-3,
		   .alpha_n = 2e-2,
		   .beta_n = 1e-5,
		   .alpha_r = 1e-3,
		   .beta_r = 1e-5,
		   .gamma = 2 },
	.noise = { .sqr = 1e-3, .var = 1e2 },
	.limits = { .base_batch = 64,
		    .max_batch = 4096,
		    .min_per_gpu = 1,
		    .max_per_gpu = 256,
		    .accumulate = true },
};

static struct plx_problem *cluster(int nodes, int gpus, int jobs)
{
	struct plx_problem *problem = plx_problem_create(nodes, jobs, NULL);

	assert_non_null(problem);
	problem->uniform = true;
	problem->interference = true;
	for (int n = 0; n < nodes; n++)
		problem->gpus[n] = problem->gpus_total[n] = gpus;
	for (int j = 0; j < jobs; j++) {
		problem->jobs[j] = (struct plx_job){
			.id = (uint32_t) (j + 1),
			.min_gpus = 1,
			.max_gpus = nodes * gpus,
			.profiled = true,
			.goodput = noisy,
			.profiled_gpus = nodes * gpus,
			.may_park = true,
			.home = -1,
			.age_s = 1000,
			.restart_s = 1,
			.now = problem->jobs[j].now,
		};
	}
	return problem;
}

static void assert_choice(const struct plx_plan *plan, int j, int gpus,
			  const char *why)
{
	assert_int_equal(gpus, plan->choices[j].shape.gpus);
	if (strncmp(why, plan->choices[j].why, strlen(why)) != 0)
		fail_msg("job %d: \"%s\", want \"%s\"", j, plan->choices[j].why,
			 why);
}

static void done(struct plx_problem *problem, struct plx_plan *plan)
{
	check_plan(problem, plan);
	plx_plan_destroy(plan);
	plx_problem_destroy(problem);
}

static void a_lone_job_grows_and_says_so(void **state)
{
	struct plx_problem *problem = cluster(2, 4, 1);
	struct plx_plan *plan;

	(void) state;
	problem->jobs[0].now[1] = 1;
	problem->jobs[0].home = 1;
	plan = searched(problem);
	assert_choice(plan, 0, 8, "grows 1 -> 8 GPUs on 2 nodes: goodput ");
	done(problem, plan);
}

static void a_job_at_most_doubles_what_it_measured(void **state)
{
	struct plx_problem *problem = cluster(1, 4, 1);
	struct plx_plan *plan;

	(void) state;
	problem->jobs[0].profiled_gpus = 1;
	problem->jobs[0].now[0] = 2;
	plan = searched(problem);
	assert_choice(plan, 0, 2,
		      "stays: at most twice the 1 GPU measured so far");
	done(problem, plan);
}

static void a_job_stops_at_its_limit(void **state)
{
	struct plx_problem *problem = cluster(1, 4, 1);
	struct plx_plan *plan;

	(void) state;
	problem->jobs[0].max_gpus = 2;
	problem->jobs[0].now[0] = 2;
	plan = searched(problem);
	assert_choice(plan, 0, 2, "stays: at its limit of 2 GPUs");
	done(problem, plan);
}

static void a_newcomer_takes_its_share(void **state)
{
	struct plx_problem *problem = cluster(1, 4, 2);
	struct plx_plan *plan;

	(void) state;
	problem->jobs[0].now[0] = 4;
	plan = searched(problem);
	assert_choice(plan, 0, 2, "shrinks 4 -> 2 GPUs: room for job 2");
	assert_choice(plan, 1, 2, "gets 2 GPUs on 1 node: goodput ");
	done(problem, plan);
}

static void reserved_room_is_left(void **state)
{
	struct plx_problem *problem = cluster(2, 4, 1);
	struct plx_plan *plan;

	(void) state;
	problem->jobs[0].now[0] = 4;
	problem->jobs[0].now[1] = 4;
	problem->jobs[0].home = 0;
	problem->gpus[1] = 0;
	plan = searched(problem);
	assert_choice(plan, 0, 4, "shrinks 8 -> 4 GPUs: room for waiting jobs");
	assert_int_equal(4, plan->choices[0].gpus[0]);
	done(problem, plan);
}

static void the_last_gpu_parks_whoever_may_be(void **state)
{
	struct plx_problem *problem = cluster(1, 2, 2);
	struct plx_plan *plan;

	(void) state;
	problem->jobs[0].now[0] = 1;
	problem->jobs[1].now[0] = 1;
	problem->jobs[0].may_park = false;
	problem->gpus[0] = 1;
	plan = searched(problem);
	assert_choice(plan, 0, 1, "stays: ");
	assert_choice(plan, 1, 0, "parked: room for waiting jobs");
	done(problem, plan);
}

static void a_pinned_job_is_left_alone(void **state)
{
	struct plx_problem *problem = cluster(1, 4, 2);
	struct plx_plan *plan;

	(void) state;
	problem->jobs[0].now[0] = 4;
	problem->jobs[0].pinned = true;
	plan = searched(problem);
	assert_choice(plan, 0, 4, "stays: 4 GPUs, may not change now");
	assert_choice(plan, 1, 0, "parked: no GPU left for it");
	done(problem, plan);
}

static void a_young_job_is_not_disturbed(void **state)
{
	struct plx_problem *problem = cluster(1, 4, 1);
	struct plx_plan *plan;

	(void) state;
	problem->jobs[0].now[0] = 3;
	problem->jobs[0].age_s = 10;
	problem->jobs[0].restart_s = 30;
	plan = searched(problem);
	assert_choice(plan, 0, 3, "stays: 3 GPUs, 4 would add ");
	done(problem, plan);
}

static void a_job_gets_no_gpus_that_its_batch_cannot_use(void **state)
{
	struct plx_problem *problem = cluster(1, 4, 1);
	struct plx_limits *limits = &problem->jobs[0].goodput.limits;
	struct plx_plan *plan;

	(void) state;
	limits->max_batch = limits->base_batch;
	limits->min_per_gpu = limits->base_batch / 2;
	problem->jobs[0].now[0] = 2;
	plan = searched(problem);
	assert_choice(plan, 0, 2, "stays: 2 GPUs, more would not help");
	done(problem, plan);
}

static void a_tiny_gain_moves_nobody(void **state)
{
	struct plx_problem *problem = cluster(1, 4, 1);
	struct plx_job *job = &problem->jobs[0];
	struct plx_plan *plan;

	(void) state;
	/* Nearly all of a pass is the same for any batch. */
	job->goodput.model.alpha_c = 1;
	job->goodput.model.beta_c = 1e-4;
	job->goodput.limits.max_batch = job->goodput.limits.base_batch;
	job->restart_s = 0;
	job->now[0] = 2;
	plan = searched(problem);
	assert_choice(plan, 0, 2, "stays: 2 GPUs, 4 would add 0 %");
	done(problem, plan);
}

static void a_growing_job_keeps_its_node(void **state)
{
	struct plx_problem *problem = cluster(4, 4, 1);
	struct plx_plan *plan;

	(void) state;
	problem->jobs[0].now[2] = 1;
	problem->jobs[0].max_gpus = 4;
	plan = searched(problem);
	assert_int_equal(4, plan->choices[0].gpus[2]);
	done(problem, plan);
}

static void nothing_to_do_is_a_plan(void **state)
{
	struct plx_problem *problem = plx_problem_create(0, 0, NULL);
	struct plx_plan *plan;

	(void) state;
	plan = searched(problem);
	assert_int_equal(0, plan->job_count);
	done(problem, plan);
}

static void a_large_cluster_is_planned_in_bounded_work(void **state)
{
	const struct random_spec spec = {
		.nodes = 16, .jobs = 64, .gpus = 4, .calm = true
	};
	uint64_t seed = 11;

	(void) state;
	for (int i = 0; i < 5; i++) {
		struct plx_problem *problem = random_problem(&seed, &spec);
		struct plx_plan *plan = searched(problem);

		done(problem, plan);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_lone_job_grows_and_says_so),
		cmocka_unit_test(a_job_at_most_doubles_what_it_measured),
		cmocka_unit_test(a_job_stops_at_its_limit),
		cmocka_unit_test(a_newcomer_takes_its_share),
		cmocka_unit_test(reserved_room_is_left),
		cmocka_unit_test(the_last_gpu_parks_whoever_may_be),
		cmocka_unit_test(a_pinned_job_is_left_alone),
		cmocka_unit_test(a_young_job_is_not_disturbed),
		cmocka_unit_test(a_job_gets_no_gpus_that_its_batch_cannot_use),
		cmocka_unit_test(a_tiny_gain_moves_nobody),
		cmocka_unit_test(a_growing_job_keeps_its_node),
		cmocka_unit_test(nothing_to_do_is_a_plan),
		cmocka_unit_test(a_plan_respects_every_limit),
		cmocka_unit_test(absurd_numbers_do_no_harm),
		cmocka_unit_test(small_plans_are_as_good_as_the_best),
		cmocka_unit_test(a_plan_depends_on_nothing_but_the_problem),
		cmocka_unit_test(a_plan_once_made_is_left_alone),
		cmocka_unit_test(a_large_cluster_is_planned_in_bounded_work),
	};

	return cmocka_run_group_tests_name("plan", tests, NULL, NULL);
}
