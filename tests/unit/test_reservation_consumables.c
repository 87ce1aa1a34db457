/* SPDX-License-Identifier: MIT */
/*
 * test_reservation_consumables.c - CPUs, say, kept back for jobs that wait for
 * them
 */

#include <stdlib.h>

#include "core/search/plan.h"
#include "reservation_world.h"

/* Of the kind each job of the second half takes one a GPU, others nothing. */
static void consumables(struct plx_problem *problem, double has)
{
	problem->consumable_kinds = 1;
	problem->consumables =
		calloc((size_t) problem->node_count, sizeof(double));
	assert_non_null(problem->consumables);
	for (int n = 0; n < problem->node_count; n++)
		problem->consumables[n] = has;
	for (int j = 0; j < problem->job_count; j++) {
		problem->jobs[j].demand = calloc(1, sizeof(double));
		assert_non_null(problem->jobs[j].demand);
		problem->jobs[j].demand[0] = j >= problem->job_count / 2;
	}
}

static void only_who_takes_of_a_consumable_shrinks_for_it(void **state)
{
	static const double two[] = { 2 };
	struct plx_problem *problem = full(2, 4);
	struct plx_plan *plan = NULL;

	(void) state;
	consumables(problem, 4);
	/* Half of the second node is the first job's. */
	problem->jobs[0].now[1] = problem->jobs[1].now[1] = 2;
	problem->consumables[1] = 3;
	assert_int_equal(0, plx_problem_restrict(problem, 1, NULL));
	problem->jobs[1].allowed[0] = false;
	assert_true(served(problem, (struct plx_request){ .nodes = 2,
							  .each.cpus = 2,
							  .demand = two }));
	assert_true(problem->consumables[0] == 2 &&
		    problem->consumables[1] == 1);
	assert_int_equal(8, gpus_left(problem));
	assert_int_equal(0, plx_plan_search(problem, &plan, NULL));
	assert_int_equal(1, plan->choices[1].gpus[1]);
	assert_string_equal("shrinks 2 -> 1 GPUs: room for waiting jobs",
			    plan->choices[1].why);
	plx_plan_destroy(plan);
	plx_problem_destroy(problem);
}

static void a_consumable_that_must_be_kept_is_not_given(void **state)
{
	static const double four[] = { 4 };
	static const bool yields[] = { false };
	struct plx_request request = {
		.nodes = 1, .each.cpus = 4, .demand = four, .keeps = yields
	};
	struct plx_problem *problem = full(1, 4);

	(void) state;
	consumables(problem, 4);
	assert_false(served(problem, request));
	assert_true(problem->consumables[0] == 4);
	problem->jobs[0].may_park = true;
	assert_true(served(problem, request));
	assert_true(problem->consumables[0] == 0);
	plx_problem_destroy(problem);
}

/* The search is to give it to the parked job: it stays in the problem. */
static void what_a_parked_job_is_woken_for_is_left_to_the_search(void **state)
{
	static const double demand[] = { 2 };

	(void) state;
	for (int wakes = 0; wakes < 2; wakes++) {
		struct plx_problem *problem = full(2, 4);
		struct plx_request request = { .nodes = 2,
					       .each.gpus = 1,
					       .demand = demand,
					       .wakes = wakes };

		consumables(problem, 4);
		assert_true(served(problem, request));
		for (int n = 0; n < 2; n++) {
			assert_int_equal(wakes ? 4 : 3, problem->gpus[n]);
			assert_true(problem->consumables[n] == (wakes ? 4 : 2));
		}
		plx_problem_destroy(problem);
	}
}

/* Its batch script's CPU is one of those that the request wants. */
static void who_is_parked_keeps_a_part_of_it(void **state)
{
	static const struct plx_resources left[] = { { .cpus = 4 } };
	static const struct plx_resources one[] = { { .cpus = 1 } };
	static const double demand[] = { 4 };
	static const double batch_host[] = { 1 };
	static const bool yields[] = { false };
	struct plx_request requests[] = {
		{ .nodes = 1, .keeps = yields, .seconds = 60 },
		{ .nodes = 1,
		  .keeps = yields,
		  .seconds = 60,
		  .each.cpus = 1,
		  .demand = demand },
	};
	struct plx_residual residual = { .left = left,
					 .per_gpu = one,
					 .scripts = one };

	(void) state;
	for (int least = 3; least <= 4; least++) {
		for (int i = 0; i < 2; i++) {
			struct plx_problem *problem = full(1, 4);
			struct plx_grant grant = { 0 };

			consumables(problem, 4);
			problem->jobs[0].batch_host_demand =
				calloc(1, sizeof(double));
			problem->jobs[0].batch_host_demand[0] = batch_host[0];
			problem->jobs[0].may_park = true;
			requests[0].each.cpus = least;
			problem->consumables[0] = 8 - least;
			assert_int_equal(
				0, plx_reservation_make(problem, &residual,
							&requests[i], 1, &grant,
							NULL));
			assert_int_equal(least == 3, grant.granted);
			plx_problem_destroy(problem);
		}
	}
}

/* GPUs of the node that are left beside a request for so many of its 8 CPUs. */
static int left_beside(int has, double wants,
		       const struct plx_resources *per_gain)
{
	static const struct plx_resources cpus[] = { { .cpus = 8 } };
	struct plx_resources per_gpu[] = { { .cpus = has ? 1 : 0 } };
	struct plx_request request = { .nodes = 1,
				       .each.cpus = wants,
				       .seconds = 60 };
	struct plx_residual residual = { .left = cpus,
					 .per_gpu = per_gpu,
					 .per_gain = per_gain };
	struct plx_problem *problem = full(1, 4);
	struct plx_grant grant = { 0 };
	int left;

	problem->jobs[0].now[0] = has;
	assert_int_equal(0, plx_reservation_make(problem, &residual, &request,
						 1, &grant, NULL));
	assert_true(grant.granted);
	left = gpus_left(problem);
	plx_problem_destroy(problem);
	return left;
}

/* Who made way for a request must not grow back before it has started. */
static void nobody_grows_into_what_a_request_takes(void **state)
{
	static const struct plx_resources one[] = { { .cpus = 1 } };
	static const struct plx_resources four[] = { { .cpus = 4 } };

	(void) state;
	assert_int_equal(4, left_beside(0, 6, NULL));
	assert_int_equal(2, left_beside(0, 6, one));
	assert_int_equal(0, left_beside(0, 6, four));
	assert_int_equal(4, left_beside(0, 4, one));
	/* Two have a CPU each; whoever comes would take four. */
	assert_int_equal(3, left_beside(2, 2, four));
	assert_int_equal(2, left_beside(2, 3, four));
	assert_int_equal(1, left_beside(2, 7, four));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(only_who_takes_of_a_consumable_shrinks_for_it),
		cmocka_unit_test(a_consumable_that_must_be_kept_is_not_given),
		cmocka_unit_test(who_is_parked_keeps_a_part_of_it),
		cmocka_unit_test(nobody_grows_into_what_a_request_takes),
		cmocka_unit_test(
			what_a_parked_job_is_woken_for_is_left_to_the_search),
	};

	return cmocka_run_group_tests_name("reservation_consumables", tests,
					   NULL, NULL);
}
