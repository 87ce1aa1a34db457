/* SPDX-License-Identifier: MIT */
/* test_timeline.c - room for jobs that wait, planned like backfill does */

#include <math.h>

#include "core/reserve/reservation.h"
#include "unit.h"

enum { NODES = 2, GPUS = 4, CPUS = 8, MEMORY = 1000 };

/* One elastic job on all of the first node; a rigid one on the second. */
struct world {
	struct plx_problem *problem;
	struct plx_node_alloc allocs[2];
	struct plx_resources left[NODES], per_gpu[NODES], scripts[1];
	struct plx_residual residual;
};

static void set_up(struct world *w)
{
	struct plx_problem *problem = plx_problem_create(NODES, 1, NULL);
	struct plx_job *job = NULL;

	assert_non_null(problem);
	*w = (struct world){
		.problem = problem,
		.allocs = { { .node = 1,
			      .has = { .gpus = 4, .cpus = 4, .memory = 100 },
			      .ends_s = 100 },
			    { .node = 0,
			      .has = { .gpus = 1, .cpus = 2, .memory = 200 },
			      .ends_s = 1e6,
			      .elastic = true } },
		.left = { { .cpus = CPUS, .memory = MEMORY },
			  { .cpus = CPUS - 4, .memory = MEMORY - 100 } },
		.per_gpu = { { .cpus = 2, .memory = 200 } },
		.scripts = { { .cpus = 1 } },
	};
	w->residual = (struct plx_residual){
		.left = w->left,
		.per_gpu = w->per_gpu,
		.scripts = w->scripts,
		.allocs = w->allocs,
		.alloc_count = 2,
	};
	problem->uniform = true;
	problem->gpus[0] = GPUS;
	problem->gpus_total[0] = problem->gpus_total[1] = GPUS;
	job = &problem->jobs[0];
	job->id = 1;
	job->min_gpus = 1;
	job->max_gpus = NODES * GPUS;
	job->batch_host = 0;
	job->now[0] = GPUS;
}

static void ask(struct world *w, const struct plx_request *requests, int count,
		struct plx_grant *grants)
{
	struct plx_error err = { .text = "" };

	if (plx_reservation_make(w->problem, &w->residual, requests, count,
				 grants, &err) < 0)
		fail_msg("%s", err.text);
}

static void gpus_make_room_for_cpus(void **state)
{
	const struct plx_request request = {
		.id = 9, .nodes = 1, .each.cpus = 5, .seconds = 60
	};
	struct plx_grant grant = { 0 };
	struct world w;

	(void) state;
	set_up(&w);
	ask(&w, &request, 1, &grant);
	assert_true(grant.granted);
	assert_true(grant.displaces);
	/* Of 8 CPUs 3 are left, of which a GPU takes 2. */
	assert_int_equal(1, w.problem->gpus[0]);
	plx_problem_destroy(w.problem);
}

static void gpus_make_room_for_memory(void **state)
{
	const struct plx_request request = { .id = 9,
					     .nodes = 1,
					     .each.cpus = 1,
					     .each.memory = 920,
					     .seconds = 60 };
	const struct plx_request less = { .id = 9,
					  .nodes = 1,
					  .each.cpus = 1,
					  .each.memory = 600,
					  .seconds = 60 };
	const bool first[NODES] = { true, false };
	struct plx_request here = less;
	struct plx_grant grant = { 0 };
	struct world w;

	(void) state;
	set_up(&w);
	/* Not beside the one GPU that a batch host keeps. */
	ask(&w, &request, 1, &grant);
	assert_false(grant.granted);
	here.allowed = first;
	ask(&w, &here, 1, &grant);
	assert_true(grant.granted);
	assert_int_equal(2, w.problem->gpus[0]);
	plx_problem_destroy(w.problem);
}

/* It does not start now, but then; nothing is kept for it until then. */
static void check_starts(const struct plx_request *request, double starts_s)
{
	struct plx_grant grant = { 0 };
	struct world w;

	set_up(&w);
	ask(&w, request, 1, &grant);
	assert_false(grant.granted);
	assert_true(grant.starts_s == starts_s);
	assert_int_equal(GPUS, w.problem->gpus[0]);
	plx_problem_destroy(w.problem);
}

static void nothing_is_kept_for_who_starts_later(void **state)
{
	const struct plx_request request = {
		.id = 9, .nodes = 2, .each.gpus = 2, .seconds = 60
	};

	(void) state;
	check_starts(&request, 100);
}

/* The elastic job has 200 MB at least until its end. */
static void a_promise_has_all_that_is_asked_for(void **state)
{
	const bool first[NODES] = { true, false };
	const struct plx_request request = { .id = 9,
					     .nodes = 1,
					     .each.cpus = 1,
					     .each.memory = 950,
					     .seconds = 60,
					     .allowed = first };

	(void) state;
	check_starts(&request, 1e6);
}

static void only_the_short_go_before_a_promise(void **state)
{
	const struct plx_request requests[] = {
		{ .id = 9, .nodes = 2, .each.gpus = 2, .seconds = 60 },
		{ .id = 8, .nodes = 1, .each.gpus = 1, .seconds = 101 },
		{ .id = 7, .nodes = 1, .each.gpus = 1, .seconds = 99 },
	};
	struct plx_grant grants[3] = { 0 };
	struct world w;

	(void) state;
	set_up(&w);
	ask(&w, requests, 3, grants);
	assert_false(grants[1].granted);
	/* After the promise: it takes from 100 to 160. */
	assert_true(grants[1].starts_s == 160);
	assert_true(grants[2].granted);
	assert_int_equal(GPUS - 1, w.problem->gpus[0]);
	plx_problem_destroy(w.problem);
}

static void nobody_is_promised_more_than_there_ever_is(void **state)
{
	const struct plx_request requests[] = {
		{ .id = 9, .nodes = 2, .each.gpus = 5, .seconds = 60 },
		{ .id = 8, .nodes = 1, .each.gpus = 1, .seconds = 1000 },
	};
	struct plx_grant grants[2] = { 0 };
	struct world w;

	(void) state;
	set_up(&w);
	ask(&w, requests, 2, grants);
	assert_true(isinf(grants[0].starts_s));
	assert_true(grants[1].granted);
	plx_problem_destroy(w.problem);
}

static void promises_end_with_the_window(void **state)
{
	const struct plx_request request = {
		.id = 9, .nodes = 2, .each.gpus = 2, .seconds = 60
	};
	struct plx_grant grant = { 0 };
	struct world w;

	(void) state;
	set_up(&w);
	w.residual.window_s = 99;
	ask(&w, &request, 1, &grant);
	assert_true(isinf(grant.starts_s));
	plx_problem_destroy(w.problem);
}

static void a_job_of_two_partitions_has_room_once(void **state)
{
	const struct plx_request requests[] = {
		{ .id = 9, .nodes = 1, .each.gpus = 1, .seconds = 60 },
		{ .id = 9, .nodes = 1, .each.gpus = 1, .seconds = 60 },
	};
	struct plx_grant grants[2] = { 0 };
	struct world w;

	(void) state;
	set_up(&w);
	ask(&w, requests, 2, grants);
	assert_true(grants[0].granted);
	assert_false(grants[1].granted);
	assert_int_equal(GPUS - 1, w.problem->gpus[0]);
	plx_problem_destroy(w.problem);
}

static void a_parked_job_comes_back_in_its_turn(void **state)
{
	const bool batch_host[NODES] = { true, false };
	const bool keeps[] = { true };
	const struct plx_request requests[] = {
		{ .id = 1,
		  .nodes = 1,
		  .each.gpus = 1,
		  .each.cpus = 1,
		  .seconds = 60,
		  .allowed = batch_host,
		  .wakes = true },
		{ .id = 8,
		  .nodes = 1,
		  .each.gpus = 4,
		  .seconds = 60,
		  .keeps = keeps },
		{ .id = 7,
		  .nodes = 1,
		  .each.gpus = 3,
		  .seconds = 60,
		  .keeps = keeps },
	};
	struct plx_grant grants[3] = { 0 };
	struct world w;

	(void) state;
	set_up(&w);
	w.problem->jobs[0].now[0] = 0;
	ask(&w, requests, 3, grants);
	assert_true(grants[0].granted);
	assert_false(grants[1].granted);
	/* Beside the GPU that the parked job is to have, and has again. */
	assert_true(grants[2].granted);
	assert_int_equal(1, w.problem->gpus[0]);
	plx_problem_destroy(w.problem);
}

/* Half of the second node is idle, the other half busy for 20 s. */
static int left_idle(double soon_s)
{
	const struct plx_request request = {
		.id = 9, .nodes = 2, .each.gpus = 3, .seconds = 600
	};
	bool promised[NODES] = { false };
	struct plx_grant grant = { .promised = promised };
	struct world w;
	int left = 0;

	set_up(&w);
	w.allocs[0].has.gpus = 2;
	w.allocs[0].ends_s = 20;
	w.problem->gpus[1] = 2;
	w.residual.soon_s = soon_s;
	ask(&w, &request, 1, &grant);
	assert_false(grant.granted);
	assert_float_equal(20, grant.starts_s, 1e-9);
	assert_true(promised[0] && promised[1]);
	assert_int_equal(GPUS, w.problem->gpus[0]);
	left = w.problem->gpus[1];
	plx_problem_destroy(w.problem);
	return left;
}

static void nobody_grows_onto_what_is_promised_soon(void **state)
{
	(void) state;
	assert_int_equal(0, left_idle(30));
	assert_int_equal(2, left_idle(10));
	assert_int_equal(2, left_idle(0));
}

/* A node for itself is made on the first, whose job needs an idle GPU. */
static void who_has_to_move_may_use_it(void **state)
{
	const bool first[NODES] = { true, false };
	const bool leaves[] = { true };
	const struct plx_request requests[] = {
		{ .id = 9,
		  .nodes = 1,
		  .each.gpus = 4,
		  .seconds = 600,
		  .allowed = first,
		  .leaves = leaves },
		{ .id = 8, .nodes = 1, .each.gpus = 4, .seconds = 600 },
	};
	struct plx_grant grants[2] = { 0 };
	struct world w;

	(void) state;
	set_up(&w);
	w.allocs[0].has.gpus = 2;
	w.allocs[0].ends_s = 20;
	w.allocs[1] = w.allocs[0];
	w.residual.alloc_count = 1;
	w.problem->gpus[1] = 2;
	w.residual.soon_s = 30;
	ask(&w, requests, 2, grants);
	assert_true(grants[0].granted);
	assert_false(grants[1].granted);
	assert_float_equal(20, grants[1].starts_s, 1e-9);
	assert_int_equal(2, w.problem->gpus[1]);
	plx_problem_destroy(w.problem);
}

/* Wide, for later, and one behind that would not be gone by then. */
static void ask_wide(bool tentative, struct plx_grant *grants)
{
	const struct plx_request requests[] = {
		{ .id = 9,
		  .nodes = 2,
		  .each.gpus = 2,
		  .each.cpus = 1,
		  .seconds = 60,
		  .tentative = tentative },
		{ .id = 10,
		  .nodes = 1,
		  .each.gpus = 1,
		  .each.cpus = 1,
		  .seconds = 1000 },
	};
	struct world w;

	set_up(&w);
	ask(&w, requests, 2, grants);
	plx_problem_destroy(w.problem);
}

static void who_is_promised_nothing_holds_nobody_up(void **state)
{
	struct plx_grant grants[2] = { { 0 } };

	(void) state;
	ask_wide(false, grants);
	assert_float_equal(100, grants[0].starts_s, 1e-9);
	assert_false(grants[1].granted);
	ask_wide(true, grants);
	assert_true(isinf(grants[0].starts_s));
	assert_true(grants[1].granted);
}

/* By its two partitions: the first has no node now, nor has the second. */
static void once_is_one_promise_of_a_job(void **state)
{
	const bool first[NODES] = { true, false };
	const bool second[NODES] = { false, true };
	struct plx_request requests[] = {
		{ .id = 9,
		  .nodes = 1,
		  .each.gpus = 4,
		  .each.cpus = 1,
		  .seconds = 60,
		  .allowed = first },
		{ .id = 9,
		  .nodes = 1,
		  .each.gpus = 4,
		  .each.cpus = 1,
		  .seconds = 60,
		  .allowed = second },
	};
	struct plx_grant grants[2] = { { 0 } };
	struct world w;

	(void) state;
	for (int once = 0; once < 2; once++) {
		set_up(&w);
		w.allocs[1].ends_s = 500;
		requests[0].once = requests[1].once = once;
		ask(&w, requests, 2, grants);
		assert_float_equal(500, grants[0].starts_s, 1e-9);
		if (once)
			assert_true(isinf(grants[1].starts_s));
		else
			assert_float_equal(100, grants[1].starts_s, 1e-9);
		plx_problem_destroy(w.problem);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(gpus_make_room_for_cpus),
		cmocka_unit_test(gpus_make_room_for_memory),
		cmocka_unit_test(nothing_is_kept_for_who_starts_later),
		cmocka_unit_test(a_promise_has_all_that_is_asked_for),
		cmocka_unit_test(only_the_short_go_before_a_promise),
		cmocka_unit_test(nobody_is_promised_more_than_there_ever_is),
		cmocka_unit_test(promises_end_with_the_window),
		cmocka_unit_test(a_job_of_two_partitions_has_room_once),
		cmocka_unit_test(a_parked_job_comes_back_in_its_turn),
		cmocka_unit_test(nobody_grows_onto_what_is_promised_soon),
		cmocka_unit_test(who_has_to_move_may_use_it),
		cmocka_unit_test(who_is_promised_nothing_holds_nobody_up),
		cmocka_unit_test(once_is_one_promise_of_a_job),
	};

	return cmocka_run_group_tests_name("timeline", tests, NULL, NULL);
}
