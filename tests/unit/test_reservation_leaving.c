/* SPDX-License-Identifier: MIT */
/* test_reservation_leaving.c - jobs leave their batch host for one that waits
 */

#include "core/search/plan.h"
#include "core/reserve/reservation.h"
#include "plan_rules.h"
#include "random_problem.h"

static const struct random_spec crowded = {
	.nodes = 4, .jobs = 6, .gpus = 4, .calm = true
};

static const bool all[8] = { true, true, true, true, true, true, true, true };
static const bool none[8] = { false };

/* Jobs on the nodes in turn, each with so many GPUs on its batch host. */
static struct plx_problem *batch_hosts(int nodes, int jobs, int gpus, int held)
{
	struct plx_problem *problem = plx_problem_create(nodes, jobs, NULL);

	assert_non_null(problem);
	problem->uniform = true;
	for (int n = 0; n < nodes; n++)
		problem->gpus[n] = problem->gpus_total[n] = gpus;
	for (int j = 0; j < jobs; j++) {
		struct plx_job *job = &problem->jobs[j];

		job->id = (uint32_t) (j + 1);
		job->min_gpus = 1;
		job->max_gpus = gpus;
		job->profiled_gpus = gpus;
		job->may_park = true;
		job->batch_host = j % nodes;
		job->now[job->batch_host] = held;
	}
	return problem;
}

static struct plx_grant reserved(struct plx_problem *problem,
				 struct plx_request request)
{
	struct plx_error err = { .text = "" };
	struct plx_grant grant = { 0 };

	if (plx_reservation_make(problem, NULL, &request, 1, &grant, &err) < 0)
		fail_msg("%s", err.text);
	return grant;
}

static const struct plx_request whole = {
	.nodes = 1, .whole_nodes = true, .keeps = none, .leaves = all
};

static void a_whole_node_is_left_for_another(void **state)
{
	struct plx_problem *problem = batch_hosts(2, 2, 4, 2);
	struct plx_grant grant = reserved(problem, whole);
	struct plx_plan *plan = NULL;
	int left = problem->jobs[0].batch_host < 0 ? 0 : 1;

	(void) state;
	assert_true(grant.granted && grant.displaces);
	assert_int_equal(-1, problem->jobs[left].batch_host);
	assert_int_equal(1 - left, problem->jobs[1 - left].batch_host);
	assert_int_equal(0, problem->gpus[left]);
	assert_int_equal(0, plx_plan_search(problem, &plan, NULL));
	assert_int_equal(0, plan->choices[left].gpus[left]);
	assert_true(plan->choices[left].gpus[1 - left] > 0);
	assert_true(plan->choices[1 - left].gpus[1 - left] > 0);
	plx_plan_destroy(plan);
	plx_problem_destroy(problem);
}

static void who_finds_no_place_waits_in_the_queue(void **state)
{
	struct plx_problem *problem = batch_hosts(1, 1, 4, 2);
	struct plx_plan *plan = NULL;

	(void) state;
	assert_true(reserved(problem, whole).granted);
	assert_int_equal(-1, problem->jobs[0].batch_host);
	assert_int_equal(0, plx_plan_search(problem, &plan, NULL));
	assert_int_equal(0, plan->choices[0].shape.gpus);
	plx_plan_destroy(plan);
	plx_problem_destroy(problem);
}

static void an_empty_node_is_taken_before_anybody_leaves(void **state)
{
	struct plx_problem *problem = batch_hosts(2, 1, 4, 4);
	struct plx_grant grant = reserved(problem, whole);

	(void) state;
	assert_true(grant.granted && !grant.displaces);
	assert_int_equal(0, problem->jobs[0].batch_host);
	assert_int_equal(0, problem->gpus[1]);
	plx_problem_destroy(problem);
}

static void who_may_not_leave_stays(void **state)
{
	struct plx_request request = whole;
	struct plx_problem *problem = batch_hosts(1, 1, 4, 2);

	(void) state;
	request.leaves = none;
	assert_false(reserved(problem, request).granted);
	request.leaves = all;
	problem->jobs[0].fixed = true;
	assert_false(reserved(problem, request).granted);
	assert_int_equal(0, problem->jobs[0].batch_host);
	assert_int_equal(4, problem->gpus[0]);
	plx_problem_destroy(problem);
}

/* Its priority is higher: it may go elsewhere for nobody, least of all wait. */
static void who_keeps_what_it_has_is_not_evicted(void **state)
{
	struct plx_request request = whole;
	struct plx_problem *problem = batch_hosts(1, 1, 4, 2);

	(void) state;
	request.keeps = all;
	assert_false(reserved(problem, request).granted);
	assert_int_equal(0, problem->jobs[0].batch_host);
	plx_problem_destroy(problem);
}

static void nobody_leaves_for_one_that_cannot_start_anyway(void **state)
{
	struct plx_request request = whole;
	struct plx_problem *problem = batch_hosts(2, 2, 4, 2);

	(void) state;
	request.nodes = 2;
	problem->gpus[1] = 3; /* a rigid job is there */
	assert_false(reserved(problem, request).granted);
	assert_int_equal(0, problem->jobs[0].batch_host);
	assert_int_equal(1, problem->jobs[1].batch_host);
	assert_int_equal(4, problem->gpus[0]);
	plx_problem_destroy(problem);
}

static void a_parked_job_leaves_too(void **state)
{
	struct plx_problem *problem = batch_hosts(1, 1, 4, 0);

	(void) state;
	assert_true(reserved(problem, whole).granted);
	assert_int_equal(-1, problem->jobs[0].batch_host);
	plx_problem_destroy(problem);
}

/* All GPUs, not the node: its batch script may stay where nothing is free. */
static void a_job_is_parked_rather_than_evicted(void **state)
{
	struct plx_problem *problem = batch_hosts(1, 1, 4, 2);

	(void) state;
	assert_true(reserved(problem, (struct plx_request){ .nodes = 1,
							    .each.gpus = 4,
							    .keeps = none,
							    .leaves = all })
			    .granted);
	assert_int_equal(0, problem->jobs[0].batch_host);
	assert_int_equal(0, problem->gpus[0]);
	plx_problem_destroy(problem);
}

static void a_job_is_moved_rather_than_parked(void **state)
{
	static const bool first[] = { true, false };
	struct plx_problem *problem = batch_hosts(2, 1, 4, 2);

	(void) state;
	assert_true(reserved(problem, (struct plx_request){ .nodes = 1,
							    .each.gpus = 4,
							    .allowed = first,
							    .keeps = none,
							    .leaves = all })
			    .granted);
	assert_int_equal(-1, problem->jobs[0].batch_host);
	assert_int_equal(0, problem->gpus[0]);
	plx_problem_destroy(problem);
}

static void who_need_not_leave_stays_at_home(void **state)
{
	struct plx_problem *problem = batch_hosts(1, 2, 4, 2);

	(void) state;
	assert_true(reserved(problem, (struct plx_request){ .nodes = 1,
							    .each.gpus = 2,
							    .keeps = none,
							    .leaves = all })
			    .granted);
	assert_int_equal(0, problem->jobs[0].batch_host);
	assert_int_equal(0, problem->jobs[1].batch_host);
	plx_problem_destroy(problem);
}

/* ---- whatever was granted can be had, and nobody left in vain ---- */

static bool now_feasible(const struct plx_problem *problem)
{
	int gpus[64];

	for (int j = 0; j < problem->job_count; j++)
		memcpy(gpus + j * problem->node_count, problem->jobs[j].now,
		       (size_t) problem->node_count * sizeof(int));
	return feasible(problem, gpus);
}

/* Two could leave the node; it is enough that one does. */
static void who_need_not_leave_keeps_its_batch_host(void **state)
{
	static const bool first[] = { true, false };
	struct plx_problem *problem = batch_hosts(2, 3, 4, 2);
	struct plx_request request = {
		.nodes = 1,
		.each.gpus = 2,
		.allowed = first,
		.keeps = all,
		.leaves = all,
	};
	int left = 0;

	(void) state;
	for (int j = 0; j < 3; j++)
		problem->jobs[j].min_gpus = 2;
	assert_true(reserved(problem, request).granted);
	for (int j = 0; j < 3; j += 2) {
		left += problem->jobs[j].batch_host < 0;
		assert_true(problem->jobs[j].batch_host <= 0);
	}
	assert_int_equal(1, left);
	assert_int_equal(1, problem->jobs[1].batch_host);
	plx_problem_destroy(problem);
}

static void check(struct plx_problem *problem, const int *batch_host,
		  const struct plx_request *request, bool granted, int *left)
{
	struct plx_plan *plan = NULL;
	struct plx_error err = { .text = "" };

	for (int j = 0; j < problem->job_count; j++) {
		if (problem->jobs[j].batch_host == batch_host[j])
			continue;
		assert_true(granted && request->leaves[j]);
		assert_false(problem->jobs[j].fixed);
		assert_int_equal(-1, problem->jobs[j].batch_host);
		++*left;
	}
	for (int n = 0;
	     granted && request->whole_nodes && n < problem->node_count; n++) {
		for (int j = 0;
		     problem->gpus[n] == 0 && problem->gpus_total[n] > 0 &&
		     j < problem->job_count;
		     j++)
			assert_int_not_equal(n, problem->jobs[j].batch_host);
	}
	for (int j = 0; j < problem->job_count; j++)
		problem->jobs[j].may_park &= !request->keeps[j];
	if (plx_plan_search(problem, &plan, &err) < 0)
		fail_msg("%s", err.text);
	assert_true(feasible(problem, plan->choices[0].gpus));
	plx_plan_destroy(plan);
}

static void granted_room_can_be_had(void **state)
{
	uint64_t seed = 7;
	int grants = 0;
	int left = 0;

	(void) state;
	for (int i = 0; i < 4000; i++) {
		struct plx_problem *problem = random_problem(&seed, &crowded);
		bool keeps[6];
		bool leaves[6];
		int batch_host[6];
		struct plx_request request = {
			.nodes = random_int(&seed, 1, problem->node_count),
			.each.gpus = random_int(&seed, 0, 4),
			.whole_nodes = chance(&seed, 60),
			.keeps = keeps,
			.leaves = leaves,
		};

		for (int j = 0; j < problem->job_count; j++) {
			batch_host[j] = problem->jobs[j].batch_host;
			keeps[j] = chance(&seed, 30);
			leaves[j] = !keeps[j] && chance(&seed, 80);
		}
		if (now_feasible(problem)) {
			bool granted = reserved(problem, request).granted;

			check(problem, batch_host, &request, granted, &left);
			grants += granted;
		}
		plx_problem_destroy(problem);
	}
	assert_true(grants > 500);
	assert_true(left > 200);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_whole_node_is_left_for_another),
		cmocka_unit_test(who_finds_no_place_waits_in_the_queue),
		cmocka_unit_test(an_empty_node_is_taken_before_anybody_leaves),
		cmocka_unit_test(who_may_not_leave_stays),
		cmocka_unit_test(who_keeps_what_it_has_is_not_evicted),
		cmocka_unit_test(
			nobody_leaves_for_one_that_cannot_start_anyway),
		cmocka_unit_test(a_parked_job_leaves_too),
		cmocka_unit_test(a_job_is_parked_rather_than_evicted),
		cmocka_unit_test(a_job_is_moved_rather_than_parked),
		cmocka_unit_test(who_need_not_leave_stays_at_home),
		cmocka_unit_test(granted_room_can_be_had),
		cmocka_unit_test(who_need_not_leave_keeps_its_batch_host),
	};

	return cmocka_run_group_tests_name("reservation_leaving", tests, NULL,
					   NULL);
}
