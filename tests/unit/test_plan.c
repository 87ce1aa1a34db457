/* SPDX-License-Identifier: MIT */
/* test_plan.c - who gets which GPUs, and why */

#include "core/search/plan.h"
#include "plan_rules.h"
#include "plan_seen.h"
#include "random_problem.h"

static const struct random_spec small = { .nodes = 3, .jobs = 3, .gpus = 4 };
static const struct random_spec medium = { .nodes = 5, .jobs = 8, .gpus = 4 };
static const struct random_spec rich = {
	.nodes = 5, .jobs = 8, .gpus = 4, .rich = true, .stocked = true
};
static const struct random_spec two_kinds = {
	.nodes = 5, .jobs = 8, .gpus = 4, .stocked = true, .kinds = 2
};
static const struct random_spec bounded = {
	.nodes = 5, .jobs = 8, .gpus = 4, .rich = true, .bounded = true
};
/* Not so many nodes that they are kept by what is free; and so many. */
static const struct random_spec wired = {
	.nodes = 8, .jobs = 8, .gpus = 4, .rich = true, .wired = true
};
static const struct random_spec wide_wired = {
	.nodes = 60, .jobs = 60, .gpus = 8, .wired = true, .bounded = true
};
/* More nodes than the search looks at one by one. */
static const struct random_spec wide = {
	.nodes = 60, .jobs = 80, .gpus = 8, .rich = true, .stocked = true
};
static const struct random_spec hostile = {
	.nodes = 4, .jobs = 6, .gpus = 8, .hostile = true
};

/* ---- what must hold of every plan ---- */

static struct seen check_many(const struct random_spec *spec, int count)
{
	struct seen seen = { 0 };
	uint64_t seed = 1;

	for (int i = 0; i < count; i++) {
		struct plx_problem *problem = random_problem(&seed, spec);
		struct plx_error err = { .text = "" };

		if (plx_problem_check(problem, &err) == 0) {
			struct plx_plan *plan = searched(problem);

			check_plan(problem, plan);
			see_plan(problem, plan, &seen);
			plx_plan_destroy(plan);
		} else if (!spec->hostile) {
			fail_msg("%s", err.text);
		}
		plx_problem_destroy(problem);
	}
	return seen;
}

static void a_plan_respects_every_limit(void **state)
{
	struct seen seen;

	(void) state;
	seen = check_many(&small, UNIT_CASES(3000));
	assert_true(seen.parked > UNIT_CASES(10) &&
		    seen.woken > UNIT_CASES(100));
	seen = check_many(&medium, UNIT_CASES(1000));
	assert_true(seen.lone_multi > UNIT_CASES(100) &&
		    seen.uneven > UNIT_CASES(50));
	assert_true(seen.parked > UNIT_CASES(50) &&
		    seen.woken > UNIT_CASES(100));
	assert_true(seen.fixed > UNIT_CASES(100));
	seen = check_many(&rich, UNIT_CASES(2000));
	assert_true(seen.sized > UNIT_CASES(100) &&
		    seen.tabled > UNIT_CASES(100));
	assert_true(seen.whole > UNIT_CASES(100) &&
		    seen.supplied > UNIT_CASES(100));
	seen = check_many(&bounded, UNIT_CASES(2000));
	assert_true(seen.limited > UNIT_CASES(100) &&
		    seen.multi > UNIT_CASES(100));
	assert_true(seen.needed > UNIT_CASES(100) &&
		    seen.left > UNIT_CASES(100));
	seen = check_many(&two_kinds, UNIT_CASES(500));
	assert_true(seen.supplied > UNIT_CASES(100));
	seen = check_many(&wide, UNIT_CASES(60));
	assert_true(seen.supplied > UNIT_CASES(100) &&
		    seen.sized > UNIT_CASES(100) &&
		    seen.tabled > UNIT_CASES(100));
	seen = check_many(&wired, UNIT_CASES(2000));
	assert_true(seen.bound > UNIT_CASES(100) &&
		    seen.spanning > UNIT_CASES(100));
	seen = check_many(&wide_wired, UNIT_CASES(60));
	assert_true(seen.bound > UNIT_CASES(50) &&
		    seen.spanning > UNIT_CASES(50));
}

static void absurd_numbers_do_no_harm(void **state)
{
	struct seen seen;

	(void) state;
	seen = check_many(&hostile, UNIT_CASES(1500));
	assert_true(seen.parked > UNIT_CASES(50) &&
		    seen.woken > UNIT_CASES(100));
}

/* ---- the same problem, the same plan ---- */

/* What the copy of a job must not share. */
static void copy_speedups(const struct plx_job *job, struct plx_job *other)
{
	size_t size = (size_t) job->size_count * sizeof(int);
	size_t cells;

	if (job->sizes) {
		other->sizes = malloc(size);
		assert_non_null(other->sizes);
		memcpy(other->sizes, job->sizes, size);
	}
	if (job->batch_host_demand) {
		other->batch_host_demand = malloc(sizeof(double));
		assert_non_null(other->batch_host_demand);
		*other->batch_host_demand = *job->batch_host_demand;
	}
	if (job->demand) {
		other->demand = malloc(sizeof(double));
		assert_non_null(other->demand);
		*other->demand = *job->demand;
	}
	if (!job->table)
		return;
	cells = (size_t) (job->table->nodes * job->table->gpus);
	other->table = malloc(sizeof(*other->table));
	assert_non_null(other->table);
	*other->table = *job->table;
	other->table->speedup = malloc(cells * sizeof(double));
	assert_non_null(other->table->speedup);
	memcpy(other->table->speedup, job->table->speedup,
	       cells * sizeof(double));
}

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
	if (problem->consumables) {
		copy->consumable_kinds = problem->consumable_kinds;
		copy->consumables = malloc(nodes * sizeof(double));
		assert_non_null(copy->consumables);
		memcpy(copy->consumables, problem->consumables,
		       nodes * sizeof(double));
	}
	memcpy(copy->gpus_total, problem->gpus_total, nodes * sizeof(int));
	copy->switch_cost = problem->switch_cost;
	if (problem->switches) {
		assert_int_equal(0, plx_problem_add_switches(copy, NULL));
		memcpy(copy->switches, problem->switches, nodes * sizeof(int));
	}
	for (int j = 0; j < jobs; j++) {
		const struct plx_job *job = &problem->jobs[j];
		struct plx_job *other = &copy->jobs[jobs - 1 - j];
		int *now = other->now;

		*other = *job;
		other->now = now;
		other->allowed = NULL;
		copy_speedups(job, other);
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
	struct seen seen = { 0 };
	uint64_t seed = 3;

	(void) state;
	for (int i = 0; i < UNIT_CASES(600); i++) {
		struct plx_problem *problem =
			random_problem(&seed, i % 2 ? &wired : &rich);
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
		see_plan(problem, plan, &seen);
		plx_plan_destroy(back);
		plx_plan_destroy(again);
		plx_plan_destroy(plan);
		plx_problem_destroy(other);
		plx_problem_destroy(problem);
	}
	assert_true(seen.parked > UNIT_CASES(50) &&
		    seen.woken > UNIT_CASES(100) &&
		    seen.supplied > UNIT_CASES(50) &&
		    seen.spanning > UNIT_CASES(50));
}

/* Make the plan what the jobs have. */
static void apply(struct plx_problem *problem, const struct plx_plan *plan)
{
	for (int j = 0; j < problem->job_count; j++) {
		struct plx_job *job = &problem->jobs[j];

		memcpy(job->now, plan->choices[j].gpus,
		       (size_t) problem->node_count * sizeof(int));
		job->restarts += plan->choices[j].changed;
		for (int n = 0; n < problem->node_count && job->batch_host < 0;
		     n++) {
			if (job->now[n] > 0)
				job->batch_host = n;
		}
	}
}

static void a_plan_once_made_is_left_alone(void **state)
{
	struct random_spec spec = {
		.nodes = 4, .jobs = 8, .gpus = 4, .calm = true
	};
	struct seen seen = { 0 };
	uint64_t seed = 9;

	(void) state;
	for (int i = 0; i < UNIT_CASES(400); i++) {
		struct plx_problem *problem;
		struct plx_plan *plan;

		/* The second half on switches. */
		spec.wired = i >= UNIT_CASES(200);
		problem = random_problem(&seed, &spec);
		problem->fairness = -1;
		for (int j = 0; j < problem->job_count; j++) {
			problem->jobs[j].age_s = 300;
			problem->jobs[j].restart_s = 1;
			problem->jobs[j].restarts = 3;
		}
		plan = searched(problem);
		see_plan(problem, plan, &seen);
		apply(problem, plan);
		plx_plan_destroy(plan);
		problem->seed++;
		plan = searched(problem);
		for (int j = 0; j < problem->job_count; j++)
			assert_false(plan->choices[j].changed);
		plx_plan_destroy(plan);
		plx_problem_destroy(problem);
	}
	assert_true(seen.woken > UNIT_CASES(50) &&
		    seen.lone_multi > UNIT_CASES(20) &&
		    seen.spanning > UNIT_CASES(5));
}

static bool now_please(void *asked)
{
	++*(int *) asked;
	return true;
}

static void who_asks_to_stop_gets_a_plan_at_once(void **state)
{
	struct seen seen = { 0 };
	uint64_t seed = 21;
	int asked = 0;

	(void) state;
	for (int i = 0; i < UNIT_CASES(300); i++) {
		struct plx_problem *problem = random_problem(&seed, &rich);
		struct plx_plan *plan;

		problem->stop = now_please;
		problem->stop_context = &asked;
		plan = searched(problem);
		check_plan(problem, plan);
		see_plan(problem, plan, &seen);
		plx_plan_destroy(plan);
		plx_problem_destroy(problem);
	}
	assert_true(asked > UNIT_CASES(100));
	assert_true(seen.parked + seen.woken > UNIT_CASES(20));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_plan_respects_every_limit),
		cmocka_unit_test(absurd_numbers_do_no_harm),
		cmocka_unit_test(who_asks_to_stop_gets_a_plan_at_once),
		cmocka_unit_test(a_plan_depends_on_nothing_but_the_problem),
		cmocka_unit_test(a_plan_once_made_is_left_alone),
	};

	return cmocka_run_group_tests_name("plan", tests, NULL, NULL);
}
