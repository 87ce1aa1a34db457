/* SPDX-License-Identifier: MIT */
/* test_sched_moldable.c - moldable jobs in the plan */

#include <math.h>
#include <string.h>

#include "sched/pollux/plan/moldable_plan.h"
#include "sched/pollux/plan/consumables.h"
#include "sched_world.h"

/* The second job waits for its start, and may be molded. */
static void let_one_wait(struct world *w, bool granted)
{
	static bool first[NODES] = { true, false };
	static struct pollux_waiting waiting;

	waiting = (struct pollux_waiting){
		.id = 2,
		.moldable = 1,
		.nodes = 1,
		.each.gpus = 1,
		.each.cpus = 1,
		.seconds = 3600,
		.allowed = w->allowed,
		.blocked = !granted,
	};
	w->snapshot.job_count = 1;
	w->snapshot.moldable_count = 1;
	w->snapshot.waiting = &waiting;
	w->snapshot.waiting_count = 1;
	w->params.terms.max_job_test = 100;
	w->grants[0].nodes = first;
	w->gpus[1][0] = w->cpus[1][0] = 0;
	w->jobs[1].batch_host = -1;
	w->jobs[1].options.mode = PLX_MODE_REQUEUE;
	w->nodes[0].left.gpus++;
	w->nodes[0].left.cpus++;
}

static void a_moldable_job_with_room_takes_part_in_the_plan(void **state)
{
	struct plx_problem *problem;
	struct world w;

	(void) state;
	set_up(&w);
	let_one_wait(&w, true);
	problem = problem_of(&w);
	assert_int_equal(2, problem->job_count);
	assert_true(w.grants[0].granted);
	assert_false(w.grants[0].displaces);
	assert_false(problem->jobs[1].fixed);
	assert_true(problem->jobs[1].profiled);
	assert_int_equal(NODES * GPUS, problem->gpus[0] + problem->gpus[1]);
	assert_int_equal(0, w.reserved[0] + w.reserved[1]);
	plx_problem_destroy(problem);
}

static void a_moldable_job_without_room_waits(void **state)
{
	struct plx_problem *problem;
	struct world w;

	(void) state;
	set_up(&w);
	let_one_wait(&w, false);
	problem = problem_of(&w);
	assert_true(problem->jobs[1].fixed);
	plx_problem_destroy(problem);
}

static void a_moldable_job_that_waits_needs_more_than_gpus(void **state)
{
	static const int one[NODES] = { 1, 0 };
	static const int three[NODES] = { 3, 0 };
	static const int elsewhere[NODES] = { 0, 1 };
	int free_of_kind[NODES] = { 2, 0 };
	int all_of_kind[NODES] = { 2, 0 };
	struct pollux_kind kind = { .type = "a100",
				    .free = free_of_kind,
				    .all = all_of_kind };
	struct plx_problem *problem;
	struct world w;

	(void) state;
	set_up(&w);
	let_one_wait(&w, true);
	w.jobs[1].per_gpu.cpus = 4;
	problem = problem_of(&w);
	assert_int_equal(1, problem->consumable_kinds);
	assert_true(problem->jobs[1].demand[0] == 4);
	assert_true(problem->jobs[0].demand[0] == 1);
	plx_problem_destroy(problem);
	assert_true(pollux_consumables_is_free(&w.snapshot, 1, one));
	assert_false(pollux_consumables_is_free(&w.snapshot, 1, three));

	w.jobs[1].per_gpu.cpus = 1;
	w.jobs[1].kind = 0;
	w.snapshot.kinds = &kind;
	w.snapshot.kind_count = 1;
	assert_false(pollux_consumables_is_free(&w.snapshot, 1, three));
	assert_false(pollux_consumables_is_free(&w.snapshot, 1, elsewhere));

	/* On each node; where its room is, others will leave it. */
	w.snapshot.counts_memory = true;
	w.jobs[1].script.memory = 600;
	w.nodes[0].left.memory = w.nodes[1].left.memory = 500;
	problem = problem_of(&w);
	assert_true(problem->jobs[1].allowed[0]);
	assert_false(problem->jobs[1].allowed[1]);
	plx_problem_destroy(problem);
}

/*
 * A job of higher priority, for more nodes than there are free. The moldable
 * one saves nothing: it could not make way when that starts.
 */
static int most_behind(bool *first, double starts_s)
{
	struct plx_grant grants[2] = {
		{ .starts_s = starts_s },
		{ .granted = true, .gpus = 1, .nodes = first },
	};
	struct pollux_waiting waiting[2] = { { .id = 3, .moldable = -1 } };
	struct pollux_reservations reservations = { .reserved = NULL };
	struct plx_problem *problem;
	struct world w;
	int most = 0;

	set_up(&w);
	let_one_wait(&w, true);
	problem = problem_of(&w);
	waiting[1] = w.snapshot.waiting[0];
	w.snapshot.waiting = waiting;
	w.snapshot.waiting_count = 2;
	reservations.grants = grants;
	reservations.reserved = w.reserved;
	problem->jobs[1].max_gpus = NODES * GPUS;
	pollux_moldable_grant(&w.snapshot, problem, &reservations);
	most = problem->jobs[1].max_gpus;
	plx_problem_destroy(problem);
	return most;
}

static void behind_one_that_is_promised_nodes_it_stays_small(void **state)
{
	bool first[NODES] = { true, false };

	(void) state;
	assert_int_equal(1, most_behind(first, 600));
}

static void behind_one_that_may_never_start_it_does_not(void **state)
{
	bool first[NODES] = { true, false };

	(void) state;
	assert_int_equal(NODES * GPUS, most_behind(first, INFINITY));
}

static void a_moldable_job_moves_as_a_whole_or_not_at_all(void **state)
{
	struct plx_problem *problem;
	struct world w;

	(void) state;
	set_up(&w);
	w.jobs[0].options.mode = PLX_MODE_REQUEUE;
	w.inputs[0].moldable = (struct plx_moldable){
		.age_s = 50, .saved_s = 20, .ends_s = 3600, .restart_s = 30
	};
	problem = problem_of(&w);
	assert_int_equal(-1, problem->jobs[0].batch_host);
	assert_false(problem->jobs[0].may_park);
	assert_false(problem->jobs[0].fixed);
	assert_true(problem->jobs[0].restart_s == 50);
	plx_problem_destroy(problem);
	w.inputs[0].moldable.saved_s = -1;
	w.inputs[0].moldable.age_s = 3600;
	pollux_moldable_hold(&w.inputs[0]);
	assert_int_equal(PLX_HOLD_MOLDABLE, w.inputs[0].hold);
	problem = problem_of(&w);
	assert_true(problem->jobs[0].fixed);
	plx_problem_destroy(problem);
}

/* It runs on one GPU of sixteen, alone. */
static void a_plan_that_is_not_worth_a_requeue_is_not_followed(void **state)
{
	struct pollux_reservations reservations = { .reserved = NULL };
	struct plx_problem *problem;
	struct plx_plan *plan = NULL;
	struct world w;

	(void) state;
	set_up(&w);
	w.snapshot.job_count = 1;
	w.jobs[0].options.mode = PLX_MODE_REQUEUE;
	w.inputs[0].moldable = (struct plx_moldable){ .age_s = 50,
						      .requeued_s = 50,
						      .saved_s = -1,
						      .ends_s = 3600,
						      .restart_s = 30,
						      .least_gap_s = 600 };
	problem = problem_of(&w);
	assert_int_equal(0, plx_plan_search(problem, &plan, NULL));
	assert_true(plan->choices[0].shape.gpus > 1);
	assert_true(pollux_moldable_settle(&w.snapshot, plan, problem, w.inputs,
					   &reservations));
	assert_true(problem->jobs[0].fixed);
	assert_int_equal(PLX_HOLD_MOLDABLE, w.inputs[0].hold);
	assert_non_null(strstr(w.inputs[0].why, "requeued 50 s ago"));

	w.inputs[0].still = false;
	w.inputs[0].moldable.requeued_s = 600;
	assert_false(pollux_moldable_settle(&w.snapshot, plan, problem,
					    w.inputs, &reservations));
	assert_non_null(strstr(w.inputs[0].why, "times as fast"));
	plx_plan_destroy(plan);
	plx_problem_destroy(problem);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(
			a_moldable_job_with_room_takes_part_in_the_plan),
		cmocka_unit_test(a_moldable_job_without_room_waits),
		cmocka_unit_test(
			a_moldable_job_that_waits_needs_more_than_gpus),
		cmocka_unit_test(
			behind_one_that_is_promised_nodes_it_stays_small),
		cmocka_unit_test(behind_one_that_may_never_start_it_does_not),
		cmocka_unit_test(a_moldable_job_moves_as_a_whole_or_not_at_all),
		cmocka_unit_test(
			a_plan_that_is_not_worth_a_requeue_is_not_followed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
