/* SPDX-License-Identifier: MIT */
/* test_reservation_group.c - jobs that start together or not at all */

#include <math.h>

#include "core/reserve/reservation_group.h"
#include "plan_rules.h"
#include "reservation_world.h"

#define COUNT_MAX 12
#define NODES_MAX 4

/* What came of some requests. */
struct served {
	struct plx_grant grants[COUNT_MAX];
	bool nodes[COUNT_MAX][NODES_MAX];
	bool promised[COUNT_MAX][NODES_MAX];
};

static void serve_groups(struct plx_problem *problem,
			 const struct plx_residual *residual,
			 const struct plx_request *requests, int count,
			 struct served *served)
{
	struct plx_error err = { .text = "" };

	*served = (struct served){ .grants = { { 0 } } };
	for (int i = 0; i < count; i++) {
		served->grants[i].nodes = served->nodes[i];
		served->grants[i].promised = served->promised[i];
	}
	if (plx_reservation_make_groups(problem, residual, requests, count,
					served->grants, &err) < 0)
		fail_msg("%s", err.text);
}

/* GPUs of one node for a job; group 0: it is in none. */
static struct plx_request member(uint32_t id, int gpus, uint32_t group,
				 int size)
{
	return (struct plx_request){ .id = id,
				     .nodes = 1,
				     .each.gpus = gpus,
				     .group = group,
				     .group_size = size };
}

static int nodes_of(const bool *nodes)
{
	int count = 0;

	for (int n = 0; n < NODES_MAX; n++)
		count += nodes[n];
	return count;
}

static void members_are_served_on_different_nodes(void **state)
{
	const struct plx_request requests[] = {
		member(7, 1, 7, 2),
		member(8, 1, 7, 2),
	};
	struct plx_problem *problem = full(2, 4);
	struct served served;

	(void) state;
	serve_groups(problem, NULL, requests, 2, &served);
	assert_true(served.grants[0].granted && served.grants[1].granted);
	assert_true(served.nodes[0][0] != served.nodes[1][0]);
	assert_int_equal(3, problem->gpus[0]);
	assert_int_equal(3, problem->gpus[1]);
	plx_problem_destroy(problem);
}

static void others_may_share_a_node(void **state)
{
	const struct plx_request requests[] = {
		member(7, 1, 0, 0),
		member(8, 1, 8, 1),
		member(9, 1, 0, 0),
	};
	struct plx_problem *problem = full(1, 4);
	struct served served;

	(void) state;
	serve_groups(problem, NULL, requests, 3, &served);
	for (int i = 0; i < 3; i++)
		assert_true(served.grants[i].granted);
	assert_int_equal(1, problem->gpus[0]);
	plx_problem_destroy(problem);
}

/* The second member is wider than a node can be. */
static void a_group_that_lacks_a_node_takes_nothing(void **state)
{
	const struct plx_request requests[] = {
		member(7, 2, 7, 2),
		member(8, 4, 7, 2),
	};
	struct plx_problem *problem = full(2, 4);
	struct served served;

	(void) state;
	serve_groups(problem, NULL, requests, 2, &served);
	for (int i = 0; i < 2; i++) {
		assert_false(served.grants[i].granted);
		assert_int_equal(0, nodes_of(served.nodes[i]));
		assert_true(isinf(served.grants[i].starts_s));
	}
	assert_int_equal(8, gpus_left(problem));
	plx_problem_destroy(problem);
}

static void a_group_of_which_one_is_not_there_takes_nothing(void **state)
{
	const struct plx_request requests[] = {
		member(7, 1, 7, 3),
		member(8, 1, 7, 3),
	};
	struct plx_problem *problem = full(4, 4);
	struct served served;

	(void) state;
	serve_groups(problem, NULL, requests, 2, &served);
	assert_false(served.grants[0].granted || served.grants[1].granted);
	assert_int_equal(16, gpus_left(problem));
	plx_problem_destroy(problem);
}

/* One behind it needs what the first member would have taken. */
static void who_comes_behind_gets_what_it_does_not_take(void **state)
{
	const struct plx_request requests[] = {
		member(7, 3, 7, 2),
		member(8, 3, 7, 2),
		member(9, 2, 0, 0),
		member(10, 1, 10, 1),
	};
	struct plx_problem *problem = full(1, 4);
	struct served served;

	(void) state;
	serve_groups(problem, NULL, requests, 4, &served);
	assert_false(served.grants[0].granted || served.grants[1].granted);
	assert_true(served.grants[2].granted && served.grants[3].granted);
	assert_int_equal(1, problem->gpus[0]);
	plx_problem_destroy(problem);
}

/* A job that waits in two partitions is one member, by the second of them. */
static void a_member_of_two_partitions_counts_once(void **state)
{
	static const bool first[NODES_MAX] = { true, false };
	static const bool second[NODES_MAX] = { false, true };
	const struct plx_request requests[] = {
		{ .id = 7,
		  .nodes = 1,
		  .each.gpus = 3,
		  .allowed = first,
		  .group = 7,
		  .group_size = 2 },
		{ .id = 8,
		  .nodes = 1,
		  .each.gpus = 3,
		  .allowed = first,
		  .group = 7,
		  .group_size = 2 },
		{ .id = 8,
		  .nodes = 1,
		  .each.gpus = 3,
		  .allowed = second,
		  .group = 7,
		  .group_size = 2 },
	};
	struct plx_problem *problem = full(2, 4);
	struct served served;

	(void) state;
	serve_groups(problem, NULL, requests, 3, &served);
	assert_true(served.grants[0].granted && !served.grants[1].granted &&
		    served.grants[2].granted);
	plx_problem_destroy(problem);
}

/* More groups than rounds: none is served in part. */
static void many_groups_end_in_a_few_rounds(void **state)
{
	struct plx_request requests[COUNT_MAX];
	struct plx_problem *problem = full(1, 4);
	struct served served;

	(void) state;
	for (int i = 0; i < COUNT_MAX; i++)
		requests[i] = (struct plx_request){
			.id = (uint32_t) (i + 1),
			.nodes = 1,
			.each.gpus = 1,
			.group = (uint32_t) (i / 2 + 1),
			.group_size = 2,
		};
	serve_groups(problem, NULL, requests, COUNT_MAX, &served);
	for (int i = 0; i < COUNT_MAX; i++)
		assert_false(served.grants[i].granted);
	assert_int_equal(4, problem->gpus[0]);
	plx_problem_destroy(problem);
}

/* As many as take all rounds, before one that could be served in any. */
static void incomplete_groups_cost_no_rounds(void **state)
{
	struct plx_request requests[COUNT_MAX];
	struct plx_problem *problem = full(2, 4);
	struct served served;

	(void) state;
	for (int i = 0; i < COUNT_MAX - 2; i++)
		requests[i] =
			member((uint32_t) (i + 1), 3, (uint32_t) (i + 1), 2);
	requests[COUNT_MAX - 2] = member(50, 3, 50, 2);
	requests[COUNT_MAX - 1] = member(51, 3, 50, 2);
	serve_groups(problem, NULL, requests, COUNT_MAX, &served);
	for (int i = 0; i < COUNT_MAX - 2; i++) {
		assert_false(served.grants[i].granted);
		assert_true(isinf(served.grants[i].starts_s));
	}
	assert_true(served.grants[COUNT_MAX - 2].granted &&
		    served.grants[COUNT_MAX - 1].granted);
	plx_problem_destroy(problem);
}

static void a_group_that_is_left_out_is_promised_nothing(void **state)
{
	static const struct plx_node_alloc allocs[] = {
		{ .node = 0, .has.gpus = 1, .ends_s = 60, .elastic = true },
		{ .node = 1, .has.gpus = 1, .ends_s = 60, .elastic = true },
	};
	const struct plx_residual residual = { .allocs = allocs,
					       .alloc_count = 2 };
	const struct plx_request requests[] = {
		member(7, 1, 7, 2),
		member(8, 4, 7, 2),
		member(9, 4, 0, 0),
	};
	struct plx_problem *problem = full(2, 4);
	struct served served;

	(void) state;
	serve_groups(problem, &residual, requests, 3, &served);
	assert_int_equal(0, nodes_of(served.promised[1]));
	assert_true(isinf(served.grants[1].starts_s));
	assert_int_equal(1, nodes_of(served.promised[2]));
	plx_problem_destroy(problem);
}

/*
 * Three nodes of two GPUs: who had all has made room, and has one GPU left on
 * the second; the epilog on the third is not over. A member wants one GPU, the
 * other two on two nodes each.
 */
static struct plx_problem *room_made(struct plx_node_alloc allocs[2],
				     double epilog_s)
{
	struct plx_problem *problem = plx_problem_create(3, 1, NULL);
	struct plx_job *job = &problem->jobs[0];

	assert_non_null(problem);
	for (int n = 0; n < 3; n++)
		problem->gpus[n] = problem->gpus_total[n] = 2;
	problem->gpus[2] = 0;
	job->id = 1;
	job->min_gpus = 1;
	job->max_gpus = 6;
	job->profiled_gpus = 6;
	job->batch_host = 1;
	job->now[1] = 1;
	allocs[0] = (struct plx_node_alloc){
		.node = 1, .has.gpus = 1, .ends_s = 600, .elastic = true
	};
	allocs[1] = (struct plx_node_alloc){ .node = 2,
					     .has.gpus = 2,
					     .ends_s = epilog_s };
	return problem;
}

static void serve_wide(struct plx_problem *problem,
		       const struct plx_node_alloc *allocs, double together_s,
		       struct served *served)
{
	const struct plx_residual residual = { .allocs = allocs,
					       .alloc_count = 2,
					       .soon_s = 30,
					       .together_s = together_s };
	struct plx_request requests[] = {
		member(7, 1, 7, 2),
		member(8, 2, 7, 2),
	};

	requests[1].nodes = 2;
	requests[0].seconds = requests[1].seconds = 300;
	serve_groups(problem, &residual, requests, 2, served);
}

static void room_is_kept_while_an_epilog_runs(void **state)
{
	struct plx_node_alloc allocs[2];
	struct plx_problem *problem = room_made(allocs, 1);
	struct served served;

	(void) state;
	serve_wide(problem, allocs, 1, &served);
	assert_false(served.grants[0].granted || served.grants[1].granted);
	assert_int_equal(0, problem->gpus[0]);
	assert_int_equal(1, problem->gpus[1]);
	plx_problem_destroy(problem);
}

static void assert_all_is_left(double epilog_s, double together_s, int each)
{
	struct plx_node_alloc allocs[2];
	struct plx_problem *problem = room_made(allocs, epilog_s);
	struct served served;

	allocs[1].has.gpus = each;
	serve_wide(problem, allocs, together_s, &served);
	assert_false(served.grants[0].granted || served.grants[1].granted);
	assert_int_equal(2, problem->gpus[0]);
	assert_int_equal(2, problem->gpus[1]);
	plx_problem_destroy(problem);
}

static void room_is_not_kept_in_vain(void **state)
{
	(void) state;
	assert_all_is_left(20, 1, 2); /* somebody has it for longer */
	assert_all_is_left(1, 1, 1);  /* it would not suffice */
	assert_all_is_left(1, 0, 2);  /* nobody asks for it */
}

/* Where an epilog runs matters only to who lacks just that. */
static void room_is_not_kept_for_who_lacks_more(void **state)
{
	static const bool first[NODES_MAX] = { true };
	struct plx_node_alloc allocs[2];
	struct plx_problem *problem = room_made(allocs, 1);
	const struct plx_residual residual = { .allocs = allocs,
					       .alloc_count = 2,
					       .together_s = 1 };
	struct plx_request requests[] = {
		member(7, 1, 7, 2),
		member(8, 1, 7, 2),
	};
	struct served served;

	(void) state;
	/* Both on one node, which Slurm does not do. */
	requests[0].allowed = requests[1].allowed = first;
	serve_groups(problem, &residual, requests, 2, &served);
	assert_false(served.grants[0].granted || served.grants[1].granted);
	assert_int_equal(2, problem->gpus[0]);
	assert_int_equal(2, problem->gpus[1]);
	plx_problem_destroy(problem);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(members_are_served_on_different_nodes),
		cmocka_unit_test(others_may_share_a_node),
		cmocka_unit_test(a_group_that_lacks_a_node_takes_nothing),
		cmocka_unit_test(
			a_group_of_which_one_is_not_there_takes_nothing),
		cmocka_unit_test(who_comes_behind_gets_what_it_does_not_take),
		cmocka_unit_test(a_member_of_two_partitions_counts_once),
		cmocka_unit_test(many_groups_end_in_a_few_rounds),
		cmocka_unit_test(incomplete_groups_cost_no_rounds),
		cmocka_unit_test(a_group_that_is_left_out_is_promised_nothing),
		cmocka_unit_test(room_is_kept_while_an_epilog_runs),
		cmocka_unit_test(room_is_not_kept_in_vain),
		cmocka_unit_test(room_is_not_kept_for_who_lacks_more),
	};

	return cmocka_run_group_tests_name("reservation_group", tests, NULL,
					   NULL);
}
