/* SPDX-License-Identifier: MIT */
/* test_scale.c - how many nodes a cluster should have */

#include <math.h>

#include "core/jobs/scale.h"
#include "unit.h"

/* Utility 8 / nodes. */
static int eight(void *context, int nodes, double *utility,
		 struct plx_error *err)
{
	(void) err;
	++*(int *) context;
	*utility = 8.0 / nodes;
	return 0;
}

static void the_closest_number_is_found(void **state)
{
	static const struct {
		double target;
		int near, nodes;
	} cases[] = {
		{ 0.5, 1, 16 },	 { 0.5, 16, 16 }, { 0.5, 64, 16 }, { 8, 20, 1 },
		{ 0.01, 3, 64 }, { 100, 3, 1 },	  { 0.99, 30, 8 },
	};

	(void) state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		int asked = 0;
		int nodes = 0;

		assert_int_equal(
			0, plx_scale_find(eight, &asked, cases[i].target, 1, 64,
					  cases[i].near, &nodes, NULL));
		assert_int_equal(cases[i].nodes, nodes);
		assert_true(asked <= 16);
	}
}

static void fewer_are_wanted_after_a_while(void **state)
{
	struct plx_scaler scaler = { .count = 0 };

	(void) state;
	assert_int_equal(4, plx_scale_remember(&scaler, 60, 0, 4));
	assert_int_equal(6, plx_scale_remember(&scaler, 60, 10, 6));
	assert_int_equal(6, plx_scale_remember(&scaler, 60, 30, 2));
	assert_int_equal(6, plx_scale_remember(&scaler, 60, 70, 3));
	assert_int_equal(3, plx_scale_remember(&scaler, 60, 71, 1));
	assert_int_equal(9, plx_scale_remember(&scaler, 60, 72, 9));
}

static void memory_is_bounded_and_errs_by_more(void **state)
{
	struct plx_scaler scaler = { .count = 0 };

	(void) state;
	for (int n = 1000; n > 900; n--)
		assert_int_equal(1000,
				 plx_scale_remember(&scaler, 1e6, 1000 - n, n));
	assert_int_equal(PLX_SCALE_PAST, scaler.count);
	assert_int_equal(969, plx_scale_remember(&scaler, 0, 2e6, 901));
}

/* Unprofiled: a job is as fast as it has GPUs, up to its max. */
static struct plx_problem *jobs(int count, int max)
{
	struct plx_problem *problem = plx_problem_create(1, count, NULL);

	assert_non_null(problem);
	problem->gpus[0] = problem->gpus_total[0] = 4;
	for (int j = 0; j < count; j++) {
		problem->jobs[j].id = (uint32_t) j + 1;
		problem->jobs[j].min_gpus = 1;
		problem->jobs[j].max_gpus = max;
		problem->jobs[j].profiled_gpus = 64;
		problem->jobs[j].batch_host = 0;
		problem->jobs[j].may_park = true;
	}
	return problem;
}

static void utility_is_what_jobs_use_of_it(void **state)
{
	struct plx_problem *problem = jobs(2, 4);
	double utility = 0;

	(void) state;
	assert_int_equal(0, plx_scale_utility(problem, 1, 4, &utility, NULL));
	assert_true(utility == 1);
	assert_int_equal(0, plx_scale_utility(problem, 4, 4, &utility, NULL));
	assert_true(utility == 0.5);
	assert_int_equal(0, plx_scale_utility(problem, 0, 4, &utility, NULL));
	assert_true(isinf(utility));
	plx_problem_destroy(problem);
}

static void a_band_keeps_the_number(void **state)
{
	const struct plx_scale_rule rule = {
		.min_nodes = 1, .max_nodes = 8, .low = 0.6, .high = 1.1
	};
	struct plx_problem *problem = jobs(2, 4);
	struct plx_scaler scaler = { .count = 0 };
	double utility;
	int nodes = 0;

	(void) state;
	for (int near = 1; near <= 3; near++) {
		assert_int_equal(0, plx_scale_decide(&scaler, &rule, problem, 4,
						     near, 10 * near, &nodes,
						     &utility, NULL));
		assert_int_equal(near, nodes);
	}
	assert_int_equal(0, plx_scale_decide(&scaler, &rule, problem, 4, 8, 99,
					     &nodes, &utility, NULL));
	assert_in_range(nodes, 2, 3);
	assert_true(utility == 0.25);
	plx_problem_destroy(problem);
}

static void nobody_wants_more_than_the_least(void **state)
{
	const struct plx_scale_rule rule = {
		.min_nodes = 2, .max_nodes = 8, .low = 0.6, .high = 1.1
	};
	struct plx_problem *problem = jobs(0, 1);
	struct plx_scaler scaler = { .count = 0 };
	double utility;
	int nodes = 0;

	(void) state;
	assert_int_equal(0, plx_scale_decide(&scaler, &rule, problem, 4, 5, 0,
					     &nodes, &utility, NULL));
	assert_int_equal(2, nodes);
	plx_problem_destroy(problem);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_closest_number_is_found),
		cmocka_unit_test(fewer_are_wanted_after_a_while),
		cmocka_unit_test(memory_is_bounded_and_errs_by_more),
		cmocka_unit_test(utility_is_what_jobs_use_of_it),
		cmocka_unit_test(a_band_keeps_the_number),
		cmocka_unit_test(nobody_wants_more_than_the_least),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
