/* SPDX-License-Identifier: MIT */
/* test_reservation.c - GPUs kept back for jobs that wait */

#include "core/search/plan.h"
#include "plan_rules.h"
#include "random_problem.h"
#include "reservation_world.h"

static const struct random_spec crowded = {
	.nodes = 4, .jobs = 6, .gpus = 4, .calm = true
};

static void elastic_jobs_shrink_for_a_rigid_one(void **state)
{
	struct plx_problem *problem = full(2, 4);
	struct plx_plan *plan = NULL;

	(void) state;
	assert_true(served(problem,
			   (struct plx_request){ .nodes = 2, .each.gpus = 2 }));
	assert_int_equal(2, problem->gpus[0]);
	assert_int_equal(2, problem->gpus[1]);
	assert_int_equal(0, plx_plan_search(problem, &plan, NULL));
	assert_int_equal(2, plan->choices[0].gpus[0]);
	assert_int_equal(2, plan->choices[1].gpus[1]);
	assert_string_equal("shrinks 4 -> 2 GPUs: room for waiting jobs",
			    plan->choices[0].why);
	plx_plan_destroy(plan);
	plx_problem_destroy(problem);
}

static void a_home_keeps_one_gpu(void **state)
{
	struct plx_problem *problem = full(1, 4);

	(void) state;
	assert_false(served(problem, (struct plx_request){ .nodes = 1,
							   .each.gpus = 4 }));
	assert_int_equal(4, problem->gpus[0]);
	assert_true(served(problem,
			   (struct plx_request){ .nodes = 1, .each.gpus = 3 }));
	assert_int_equal(1, problem->gpus[0]);
	plx_problem_destroy(problem);
}

static void a_job_is_parked_only_for_whom_it_does_not_keep(void **state)
{
	static const bool keeps[] = { true };
	static const bool yields[] = { false };
	struct plx_request request = { .nodes = 1, .each.gpus = 4 };
	struct plx_problem *problem = full(1, 4);

	(void) state;
	problem->jobs[0].may_park = true;
	assert_false(served(problem, request));
	request.keeps = keeps;
	assert_false(served(problem, request));
	request.keeps = yields;
	assert_true(served(problem, request));
	assert_int_equal(0, problem->gpus[0]);
	plx_problem_destroy(problem);
}

/* Whether a job has all of the first or of the second node is the same to */
/* who counts GPUs; but one of the two would have to leave its batch host. */
static void a_node_that_parks_nobody_is_taken_first(void **state)
{
	struct plx_problem *problem = full(2, 4);
	bool keeps[2] = { false, false };

	(void) state;
	problem->jobs[0].may_park = problem->jobs[1].may_park = true;
	problem->jobs[1].batch_host = -1;
	assert_true(served(problem, (struct plx_request){ .nodes = 1,
							  .each.gpus = 4,
							  .keeps = keeps }));
	assert_int_equal(4, problem->gpus[0]);
	assert_int_equal(0, problem->gpus[1]);
	plx_problem_destroy(problem);
}

static void who_may_not_be_parked_stays_where_it_is(void **state)
{
	struct plx_problem *problem = full(2, 4);
	const bool keeps[] = { true, false };

	(void) state;
	for (int j = 0; j < 2; j++) {
		problem->jobs[j].min_gpus = 4;
		problem->jobs[j].may_park = true;
		problem->jobs[j].roams = true;
	}
	assert_true(served(problem, (struct plx_request){ .nodes = 1,
							  .each.gpus = 4,
							  .keeps = keeps }));
	assert_int_equal(4, problem->gpus[0]);
	assert_int_equal(0, problem->gpus[1]);
	plx_problem_destroy(problem);
}

static void a_pinned_job_makes_no_room(void **state)
{
	struct plx_problem *problem = full(2, 4);

	(void) state;
	problem->jobs[0].fixed = true;
	assert_true(served(problem,
			   (struct plx_request){ .nodes = 1, .each.gpus = 1 }));
	assert_int_equal(4, problem->gpus[0]);
	assert_int_equal(3, problem->gpus[1]);
	plx_problem_destroy(problem);
}

static void idle_gpus_are_taken_first(void **state)
{
	struct plx_problem *problem = full(3, 4);

	(void) state;
	problem->jobs[1].now[1] = 2;
	assert_true(served(problem,
			   (struct plx_request){ .nodes = 1, .each.gpus = 2 }));
	assert_int_equal(4, problem->gpus[0]);
	assert_int_equal(2, problem->gpus[1]);
	assert_int_equal(4, problem->gpus[2]);
	plx_problem_destroy(problem);
}

static void whole_nodes_are_nobodys_home(void **state)
{
	struct plx_request request = { .nodes = 1, .whole_nodes = true };
	struct plx_problem *problem = full(2, 4);

	(void) state;
	assert_false(served(problem, request));
	/* Job 2 is on both nodes, its batch host is the first. */
	problem->jobs[0].now[0] = 2;
	problem->jobs[1].now[0] = 2;
	problem->jobs[1].now[1] = 2;
	problem->jobs[1].batch_host = 0;
	assert_true(served(problem, request));
	assert_int_equal(4, problem->gpus[0]);
	assert_int_equal(0, problem->gpus[1]);
	/* Given once. */
	assert_false(served(problem, request));
	plx_problem_destroy(problem);
}

static void a_parked_job_still_needs_its_home(void **state)
{
	static const bool yields[] = { false };
	struct plx_request request = { .nodes = 1,
				       .whole_nodes = true,
				       .keeps = yields };
	struct plx_problem *problem = full(1, 4);

	(void) state;
	problem->jobs[0].may_park = true;
	assert_false(served(problem, request));
	problem->jobs[0].batch_host = -1;
	assert_true(served(problem, request));
	plx_problem_destroy(problem);
}

static void a_node_with_a_rigid_job_is_not_whole(void **state)
{
	struct plx_problem *problem = plx_problem_create(1, 0, NULL);

	(void) state;
	problem->gpus[0] = 3;
	problem->gpus_total[0] = 4;
	assert_false(
		served(problem, (struct plx_request){ .nodes = 1,
						      .whole_nodes = true }));
	plx_problem_destroy(problem);
}

static void a_job_without_gpus_needs_no_room(void **state)
{
	struct plx_problem *problem = full(1, 1);

	(void) state;
	assert_true(served(problem, (struct plx_request){ .nodes = 7 }));
	assert_int_equal(1, problem->gpus[0]);
	plx_problem_destroy(problem);
}

static void requests_are_served_in_their_order(void **state)
{
	const struct plx_request requests[] = {
		{ .id = 9, .nodes = 2, .each.gpus = 2 },
		{ .id = 8, .nodes = 1, .each.gpus = 3 },
		{ .id = 7, .nodes = 1, .each.gpus = 1 },
	};
	struct plx_problem *problem = full(2, 4);
	struct plx_grant grants[3] = { 0 };

	(void) state;
	assert_int_equal(0, plx_reservation_make(problem, NULL, requests, 3,
						 grants, NULL));
	assert_true(grants[0].granted);
	assert_false(grants[1].granted);
	assert_true(grants[2].granted);
	assert_int_equal(3, gpus_left(problem));
	plx_problem_destroy(problem);
}

static void a_job_parked_for_one_does_not_stop_another(void **state)
{
	static const bool first_only[] = { true, false };
	static const bool yields[] = { false };
	static const bool keeps[] = { true };
	const struct plx_request requests[] = {
		{ .nodes = 1,
		  .each.gpus = 4,
		  .allowed = first_only,
		  .keeps = yields },
		{ .nodes = 1, .each.gpus = 4, .keeps = keeps },
	};
	struct plx_problem *problem = plx_problem_create(2, 1, NULL);
	struct plx_grant grants[2] = { 0 };

	(void) state;
	assert_non_null(problem);
	problem->uniform = true;
	problem->gpus[0] = problem->gpus_total[0] = 4;
	problem->gpus[1] = problem->gpus_total[1] = 4;
	problem->jobs[0].min_gpus = 1;
	problem->jobs[0].max_gpus = 4;
	problem->jobs[0].may_park = true;
	problem->jobs[0].batch_host = 0;
	problem->jobs[0].now[0] = 4;
	assert_int_equal(0, plx_reservation_make(problem, NULL, requests, 2,
						 grants, NULL));
	assert_true(grants[0].granted);
	assert_true(grants[1].granted);
	plx_problem_destroy(problem);
}

static void a_refusal_leaves_no_trace(void **state)
{
	const struct plx_request requests[] = {
		{ .nodes = 1, .each.gpus = 3 },
		{ .nodes = 1, .each.gpus = 2 },
	};
	struct plx_problem *problem = full(1, 4);
	struct plx_grant grants[2] = { 0 };

	(void) state;
	problem->jobs[0].min_gpus = 2;
	assert_int_equal(0, plx_reservation_make(problem, NULL, requests, 2,
						 grants, NULL));
	assert_false(grants[0].granted);
	assert_true(grants[1].granted);
	assert_int_equal(2, problem->gpus[0]);
	plx_problem_destroy(problem);
}

static void no_more_is_done_for_a_request_than_it_is_worth(void **state)
{
	static const bool yields[] = { false };
	/* Of four GPUs that a job has, which may be parked: served? */
	static const struct {
		int gpus;
		bool all;
		bool shrink;
		bool idle;
	} rows[] = { { 1, true, true, true },
		     { 4, true, true, false },
		     { 5, true, false, false },
		     { 6, false, false, false } };

	(void) state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		const bool serves[] = {
			[PLX_EFFORT_ALL] = rows[i].all,
			[PLX_EFFORT_SHRINK] = rows[i].shrink,
			[PLX_EFFORT_IDLE] = rows[i].idle,
		};

		for (size_t k = 0; k < ARRAY_SIZE(serves); k++) {
			struct plx_problem *problem = full(1, 4);

			problem->gpus[0] = problem->gpus_total[0] = 5;
			problem->jobs[0].may_park = true;
			assert_int_equal(
				serves[k],
				served(problem,
				       (struct plx_request){
					       .nodes = 1,
					       .each.gpus = rows[i].gpus,
					       .keeps = yields,
					       .effort =
						       (enum plx_effort) k }));
			plx_problem_destroy(problem);
		}
	}
}

/* What is idle is needed by a job that another request drives there. */
static void who_takes_what_is_idle_parks_nobody(void **state)
{
	static const bool yields[] = { false, false };
	static const bool on[2][2] = { { true, false }, { false, true } };
	struct plx_problem *problem = full(2, 4);
	struct plx_request requests[] = {
		{ .nodes = 1,
		  .each.gpus = 4,
		  .allowed = on[0],
		  .keeps = yields },
		{ .nodes = 1,
		  .each.gpus = 1,
		  .allowed = on[1],
		  .keeps = yields,
		  .effort = PLX_EFFORT_IDLE },
	};
	struct plx_grant grants[2] = { { 0 }, { 0 } };

	(void) state;
	problem->jobs[0].min_gpus = 4;
	problem->jobs[0].roams = problem->jobs[0].may_park = true;
	problem->jobs[1].fixed = true;
	problem->jobs[1].batch_host = -1;
	problem->jobs[1].now[1] = 0;
	assert_int_equal(0, plx_reservation_make(problem, NULL, requests, 2,
						 grants, NULL));
	assert_true(grants[0].granted);
	assert_false(grants[1].granted);
	assert_int_equal(4, problem->gpus[1]);
	plx_problem_destroy(problem);
}

/* As many GPUs are given up on both nodes. */
static void of_equals_the_node_whose_job_may_be_parked_is_taken(void **state)
{
	static const bool yields[] = { false, false };

	(void) state;
	for (int gpus = 1; gpus <= 3; gpus++) {
		struct plx_problem *problem = full(2, 4);

		problem->jobs[1].may_park = true;
		assert_true(served(problem,
				   (struct plx_request){ .nodes = 1,
							 .each.gpus = gpus,
							 .keeps = yields }));
		assert_int_equal(4, problem->gpus[0]);
		assert_int_equal(4 - gpus, problem->gpus[1]);
		plx_problem_destroy(problem);
	}
}

/* Nor is a job that has to stay counted as one that may be parked. */
static void of_equals_a_job_that_stays_counts_for_nothing(void **state)
{
	static const bool yields[] = { false, false, false };
	static const bool allowed[] = { true, true, false };
	struct plx_problem *problem = full(3, 4);

	(void) state;
	problem->jobs[1].now[1] = 2;
	problem->jobs[2].now[1] = 2;
	problem->jobs[2].now[2] = 0;
	problem->jobs[2].batch_host = 1;
	problem->jobs[2].fixed = problem->jobs[2].may_park = true;
	assert_true(served(problem, (struct plx_request){ .nodes = 1,
							  .each.gpus = 1,
							  .allowed = allowed,
							  .keeps = yields }));
	assert_int_equal(3, problem->gpus[0]);
	assert_int_equal(4, problem->gpus[1]);
	plx_problem_destroy(problem);
}

static void a_request_without_nodes_is_refused(void **state)
{
	struct plx_problem *problem = full(1, 1);
	struct plx_request request = { .id = 3, .nodes = 0 };
	struct plx_error err = { .text = "" };
	struct plx_grant grant = { 0 };

	(void) state;
	assert_int_equal(-1, plx_reservation_make(problem, NULL, &request, 1,
						  &grant, &err));
	assert_string_equal("job 3 wants 0 GPUs on each of 0 nodes", err.text);
	plx_problem_destroy(problem);
}

/* ---- whatever was granted can be had ---- */

static void assert_plan_exists(struct plx_problem *problem)
{
	struct plx_plan *plan = NULL;
	struct plx_error err = { .text = "" };

	if (plx_plan_search(problem, &plan, &err) < 0)
		fail_msg("%s", err.text);
	assert_true(feasible(problem, plan->choices[0].gpus));
	plx_plan_destroy(plan);
}

static struct plx_request random_request(uint64_t *seed,
					 const struct plx_problem *problem,
					 bool *allowed, bool *keeps)
{
	struct plx_request request = {
		.nodes = random_int(seed, 1, problem->node_count),
		.each.gpus = random_int(seed, 0, 4),
		.whole_nodes = chance(seed, 15),
		.allowed = chance(seed, 40) ? allowed : NULL,
		.keeps = chance(seed, 80) ? keeps : NULL,
	};

	for (int n = 0; n < problem->node_count; n++)
		allowed[n] = chance(seed, 70);
	for (int j = 0; j < problem->job_count; j++)
		keeps[j] = chance(seed, 40);
	return request;
}

/* Each of its nodes gave what it asked for, and no other anything. */
static void check_taken(const struct plx_problem *problem, const int *before,
			const struct plx_request *request, bool granted)
{
	int nodes = 0;

	for (int n = 0; n < problem->node_count; n++) {
		int taken = before[n] - problem->gpus[n];

		if (taken == 0)
			continue;
		nodes++;
		assert_true(!request->allowed || request->allowed[n]);
		if (request->whole_nodes)
			assert_int_equal(problem->gpus_total[n], taken);
		else
			assert_int_equal(request->each.gpus, taken);
	}
	if (granted && request->each.gpus > 0)
		assert_int_equal(request->nodes, nodes);
	if (!granted)
		assert_int_equal(0, nodes);
}

/* What the request may not park, the search below may not either. */
static void hold_keeps(struct plx_problem *problem,
		       const struct plx_request *request)
{
	for (int j = 0; j < problem->job_count; j++) {
		if (!request->keeps || request->keeps[j])
			problem->jobs[j].may_park = false;
	}
}

static bool now_feasible(const struct plx_problem *problem)
{
	int gpus[64];

	assert_true(problem->job_count * problem->node_count <= 64);
	for (int j = 0; j < problem->job_count; j++)
		memcpy(gpus + j * problem->node_count, problem->jobs[j].now,
		       (size_t) problem->node_count * sizeof(int));
	return feasible(problem, gpus);
}

static void granted_room_can_be_had(void **state)
{
	uint64_t seed = 5;
	int grants = 0;
	int refusals = 0;

	(void) state;
	for (int i = 0; i < 4000; i++) {
		struct plx_problem *problem = random_problem(&seed, &crowded);
		bool allowed[4];
		bool keeps[6];
		struct plx_request request =
			random_request(&seed, problem, allowed, keeps);
		int before[4];

		memcpy(before, problem->gpus,
		       (size_t) problem->node_count * sizeof(int));
		if (now_feasible(problem)) {
			bool granted = served(problem, request);

			check_taken(problem, before, &request, granted);
			hold_keeps(problem, &request);
			assert_plan_exists(problem);
			grants += granted;
			refusals += !granted;
		}
		plx_problem_destroy(problem);
	}
	assert_true(grants > 500);
	assert_true(refusals > 500);
}

/* Parked may be who yields to one of those that were granted. */
static void hold_unless_granted(struct plx_problem *problem,
				const struct plx_request *requests,
				const struct plx_grant *granted, int count)
{
	for (int j = 0; j < problem->job_count; j++) {
		bool yields = false;

		for (int i = 0; i < count; i++)
			yields = yields ||
				 (granted[i].granted && requests[i].keeps &&
				  !requests[i].keeps[j]);
		problem->jobs[j].may_park &= yields;
	}
}

static void many_grants_can_be_had_together(void **state)
{
	uint64_t seed = 6;
	int grants = 0;

	(void) state;
	for (int i = 0; i < 2000; i++) {
		struct plx_problem *problem = random_problem(&seed, &crowded);
		struct plx_request requests[4];
		bool allowed[4][4];
		bool keeps[4][6];
		struct plx_grant granted[4] = { 0 };

		for (int r = 0; r < 4; r++)
			requests[r] = random_request(&seed, problem, allowed[r],
						     keeps[r]);
		if (now_feasible(problem)) {
			assert_int_equal(
				0, plx_reservation_make(problem, NULL, requests,
							4, granted, NULL));
			hold_unless_granted(problem, requests, granted, 4);
			assert_plan_exists(problem);
			for (int r = 0; r < 4; r++)
				grants += granted[r].granted;
		}
		plx_problem_destroy(problem);
	}
	assert_true(grants > 1000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(elastic_jobs_shrink_for_a_rigid_one),
		cmocka_unit_test(a_home_keeps_one_gpu),
		cmocka_unit_test(
			a_job_is_parked_only_for_whom_it_does_not_keep),
		cmocka_unit_test(a_node_that_parks_nobody_is_taken_first),
		cmocka_unit_test(who_may_not_be_parked_stays_where_it_is),
		cmocka_unit_test(a_pinned_job_makes_no_room),
		cmocka_unit_test(idle_gpus_are_taken_first),
		cmocka_unit_test(whole_nodes_are_nobodys_home),
		cmocka_unit_test(a_parked_job_still_needs_its_home),
		cmocka_unit_test(a_node_with_a_rigid_job_is_not_whole),
		cmocka_unit_test(a_job_without_gpus_needs_no_room),
		cmocka_unit_test(requests_are_served_in_their_order),
		cmocka_unit_test(a_job_parked_for_one_does_not_stop_another),
		cmocka_unit_test(a_refusal_leaves_no_trace),
		cmocka_unit_test(who_takes_what_is_idle_parks_nobody),
		cmocka_unit_test(
			of_equals_the_node_whose_job_may_be_parked_is_taken),
		cmocka_unit_test(of_equals_a_job_that_stays_counts_for_nothing),
		cmocka_unit_test(a_request_without_nodes_is_refused),
		cmocka_unit_test(granted_room_can_be_had),
		cmocka_unit_test(many_grants_can_be_had_together),
		cmocka_unit_test(
			no_more_is_done_for_a_request_than_it_is_worth),
	};

	return cmocka_run_group_tests_name("reservation", tests, NULL, NULL);
}
