/* SPDX-License-Identifier: MIT */
/*
 * test_sched_reservations.c - room for jobs that wait, as the plugin asks for
 * it
 */

#include <stdio.h>

#include "sched/pollux/plan/leave.h"
#include "sched_world.h"

/* A job that wants the first node for itself, and only that. */
static void want_first(struct world *w, struct pollux_waiting *waiting)
{
	static bool first[NODES] = { true };

	*waiting = (struct pollux_waiting){
		.id = 9,
		.priority = 10,
		.nodes = 1,
		.each.gpus = GPUS,
		.each.cpus = 1,
		.seconds = 60,
		.whole_nodes = true,
		.clears = true,
		.allowed = first,
	};
	w->snapshot.waiting = waiting;
	w->snapshot.waiting_count = 1;
	w->params.terms.max_job_test = 100;
	for (int j = 0; j < JOBS; j++) {
		w->jobs[j].moves = w->jobs[j].yields = true;
		w->jobs[j].priority = 5;
		w->jobs[j].ends_s = 1000;
	}
}

/* How many leave the first node, and whether the job has it. */
static int leavers(struct world *w, bool *granted)
{
	bool nodes[NODES] = { false };
	struct plx_problem *problem;
	int count = 0;

	w->grants[0] = (struct plx_grant){ .nodes = nodes };
	problem = problem_of(w);
	*granted = w->grants[0].granted;
	for (int j = 0; j < JOBS; j++)
		count += problem->jobs[j].batch_host < 0;
	plx_problem_destroy(problem);
	return count;
}

static void a_whole_node_is_left_by_who_yields(void **state)
{
	struct pollux_waiting waiting;
	struct world w;
	bool granted;

	(void) state;
	set_up(&w);
	want_first(&w, &waiting);
	assert_int_equal(JOBS, leavers(&w, &granted));
	assert_true(granted);

	w.jobs[1].yields = false; /* it was put into the queue lately */
	assert_int_equal(0, leavers(&w, &granted));
	assert_false(granted);

	/*
	 * Who is not below the other goes elsewhere, but never into the queue.
	 */
	w.jobs[1].yields = true;
	w.jobs[1].priority = 10;
	assert_int_equal(JOBS, leavers(&w, &granted));
	assert_true(granted);
	w.nodes[1].usable = false;
	assert_int_equal(0, leavers(&w, &granted));
	assert_false(granted);

	w.nodes[1].usable = true;
	w.jobs[1].priority = 5;
	waiting.clears = false; /* Slurm would not start it */
	assert_int_equal(0, leavers(&w, &granted));
	assert_false(granted);
}

/* The second node has been left a moment ago, perhaps for it. */
static void nobody_leaves_while_a_node_is_about_to_be_free(void **state)
{
	static bool both[NODES] = { true, true };
	struct pollux_waiting waiting;
	struct world w;
	bool granted;

	(void) state;
	set_up(&w);
	want_first(&w, &waiting);
	waiting.allowed = both;
	w.nodes[1].left.gpus = 0;
	assert_int_equal(JOBS, leavers(&w, &granted));
	w.nodes[1].gpus_closing = GPUS;
	assert_int_equal(0, leavers(&w, &granted));
	assert_false(granted);
	w.nodes[1].gpus_closing = GPUS - 1; /* not enough */
	assert_int_equal(JOBS, leavers(&w, &granted));
}

/* Has a job of lower priority the second node, which is empty? */
static bool has_second(struct world *w, struct pollux_waiting *waiting)
{
	static bool second[NODES] = { false, true };
	struct plx_problem *problem = NULL;

	want_first(w, waiting);
	waiting->allowed = second;
	waiting->whole_nodes = waiting->clears = false;
	waiting->moldable = -1;
	w->jobs[0].priority = 20;
	problem = problem_of(w);
	plx_problem_destroy(problem);
	return w->grants[0].granted;
}

static void a_parked_job_has_room_on_all_nodes_that_its_user_named(void **state)
{
	static const bool both[NODES] = { true, true };
	struct pollux_waiting waiting;
	struct world w;

	(void) state;
	set_up(&w);
	w.gpus[0][0] = 0;
	assert_true(has_second(&w, &waiting));
	w.jobs[0].required = both;
	assert_false(has_second(&w, &waiting));
	/* Its batch host is full: it would not wake. */
	w.nodes[0].left.gpus = 0;
	assert_true(has_second(&w, &waiting));
}

/* Has a job of lower priority all of the first node, and may it preempt? */
static bool has_first(struct world *w, const bool *preempts)
{
	struct pollux_waiting waiting;
	bool copy[JOBS];
	bool granted;

	want_first(w, &waiting);
	waiting.moldable = -1;
	waiting.whole_nodes = waiting.clears = false;
	waiting.moldable = -1;
	memcpy(copy, preempts, sizeof(copy));
	waiting.preempts = copy;
	w->nodes[1].usable = false;
	for (int j = 0; j < JOBS; j++)
		w->jobs[j].priority = 20;
	(void) leavers(w, &granted);
	return granted;
}

static void who_may_preempt_parks_whatever_the_priority(void **state)
{
	struct world w;

	(void) state;
	set_up(&w);
	assert_false(has_first(&w, (bool[JOBS]){ false, false }));
	assert_false(has_first(&w, (bool[JOBS]){ true, false }));
	assert_true(has_first(&w, (bool[JOBS]){ true, true }));
}

static void a_parked_job_waits_for_who_may_preempt_it(void **state)
{
	struct world w;

	(void) state;
	set_up(&w);
	for (int j = 0; j < JOBS; j++)
		w.gpus[j][0] = 0;
	w.nodes[0].left.gpus = GPUS;
	assert_false(has_first(&w, (bool[JOBS]){ false, false }));
	assert_false(has_first(&w, (bool[JOBS]){ false, true }));
	assert_true(has_first(&w, (bool[JOBS]){ true, true }));
}

/*
 * All were parked for a job that wants both nodes; the epilog on the second is
 * not over. What is left for them of the first meanwhile.
 */
static int left_to_parked(uint64_t priority)
{
	static bool both[NODES] = { true, true };
	struct plx_node_alloc closing = { .node = 1,
					  .has.gpus = GPUS,
					  .ends_s = POLLUX_EPILOG_S };
	struct pollux_waiting waiting;
	struct plx_problem *problem;
	struct world w;
	int left = 0;

	set_up(&w);
	want_first(&w, &waiting);
	waiting.moldable = -1;
	waiting.whole_nodes = waiting.clears = false;
	waiting.moldable = -1;
	waiting.nodes = NODES;
	waiting.allowed = both;
	waiting.priority = priority;
	for (int j = 0; j < JOBS; j++)
		w.gpus[j][0] = 0;
	w.nodes[0].left.gpus = GPUS;
	w.nodes[1].left.gpus = 0;
	w.nodes[1].gpus_closing = GPUS;
	w.snapshot.allocs = &closing;
	w.snapshot.alloc_count = 1;
	problem = problem_of(&w);
	assert_false(w.grants[0].granted);
	left = problem->gpus[0];
	plx_problem_destroy(problem);
	return left;
}

static void parked_jobs_do_not_come_back_while_an_epilog_runs(void **state)
{
	(void) state;
	assert_int_equal(0, left_to_parked(10));
	assert_int_equal(GPUS, left_to_parked(1));
}

static void who_is_on_its_way_is_not_in_the_way(void **state)
{
	int nothing[NODES] = { 0 };
	struct pollux_waiting waiting;
	struct world w;
	bool granted;

	(void) state;
	set_up(&w);
	want_first(&w, &waiting);
	waiting.clears = false;
	for (int j = 0; j < JOBS; j++) {
		w.inputs[j].busy = w.inputs[j].leaves = true;
		w.inputs[j].target = nothing;
	}
	assert_int_equal(JOBS, leavers(&w, &granted));
	assert_true(granted);
}

static void a_job_that_leaves_says_why(void **state)
{
	int gpus[NODES] = { 0, 2 };
	struct plx_choice choice = { .gpus = gpus,
				     .shape = { .nodes = 1, .gpus = 2 } };
	struct pollux_waiting waiting;
	struct plx_problem *problem;
	bool nodes[NODES] = { true };
	char why[PLX_WHY_SIZE];
	struct world w;

	(void) state;
	set_up(&w);
	w.nodes[0].name = (char *) "n1";
	problem = problem_of(&w);
	problem->jobs[0].batch_host = -1;
	snprintf(choice.why, sizeof(choice.why), "moves");
	assert_int_equal(POLLUX_LEAVE_MOVES,
			 pollux_leave_of(&w.snapshot, problem, 0, &choice));
	choice.shape.gpus = gpus[1] = 0;
	assert_int_equal(POLLUX_LEAVE_QUEUES,
			 pollux_leave_of(&w.snapshot, problem, 0, &choice));
	assert_int_equal(POLLUX_LEAVE_NOT,
			 pollux_leave_of(&w.snapshot, problem, 1, &choice));
	plx_problem_destroy(problem);

	want_first(&w, &waiting);
	w.grants[0] = (struct plx_grant){ .granted = true,
					  .displaces = true,
					  .nodes = nodes };
	pollux_leave_why(&w.snapshot, w.grants, 0, POLLUX_LEAVE_QUEUES, &choice,
			 why, sizeof(why));
	assert_string_equal("leaves n1 to job 9: no other place, waits in the "
			    "queue",
			    why);
	w.nodes[0].leave = true;
	pollux_leave_why(&w.snapshot, w.grants, 0, POLLUX_LEAVE_MOVES, &choice,
			 why, sizeof(why));
	assert_string_equal("leaves n1, which is drained: moves", why);
}

/* A job of at least six GPUs waits; rigid ones leave so many on each node. */
static void want_six(struct world *w, struct pollux_waiting *waiting, int first,
		     int second)
{
	static const bool all[NODES] = { true, true };

	set_up(w);
	*waiting = (struct pollux_waiting){
		.id = 9,
		.priority = 10,
		.nodes = 1,
		.each.gpus = 6,
		.each.cpus = 6,
		.seconds = 60,
		.moldable = -1,
		.spread = { .least = 6, .most = 6, .low = 1, .high = NODES },
		.allowed = (bool *) all,
	};
	w->snapshot.job_count = 0;
	w->snapshot.waiting = waiting;
	w->snapshot.waiting_count = 1;
	w->params.terms.max_job_test = 100;
	w->nodes[0].left.gpus = first;
	w->nodes[1].left.gpus = second;
	w->nodes[0].left.cpus = w->nodes[1].left.cpus = GPUS + JOBS;
}

/* On how many nodes it has room now, and with how many GPUs on each. */
static int reserved_of(struct world *w, int *gpus)
{
	bool nodes[NODES] = { false };
	int count = 0;

	w->grants[0] = (struct plx_grant){ .nodes = nodes };
	plx_problem_destroy(problem_of(w));
	for (int n = 0; n < NODES; n++)
		count += nodes[n];
	*gpus = w->grants[0].gpus;
	return w->grants[0].granted ? count : 0;
}

static void least_gpus_lie_on_several_nodes_where_none_has_all(void **state)
{
	struct pollux_waiting waiting;
	struct world w;
	int gpus = 0;

	(void) state;
	want_six(&w, &waiting, 6, 3);
	assert_int_equal(1, reserved_of(&w, &gpus));
	assert_int_equal(6, gpus);

	want_six(&w, &waiting, 3, 3);
	assert_int_equal(2, reserved_of(&w, &gpus));
	assert_int_equal(3, gpus);
	assert_int_equal(3, w.reserved[0]);
	assert_int_equal(3, w.reserved[1]);

	want_six(&w, &waiting, 4, 2);
	assert_int_equal(0, reserved_of(&w, &gpus));
}

static void they_do_not_where_the_job_may_not(void **state)
{
	struct pollux_waiting waiting;
	struct world w;
	int gpus = 0;

	(void) state;
	want_six(&w, &waiting, 3, 3);
	waiting.spread.least = 0; /* its user wants them together */
	assert_int_equal(0, reserved_of(&w, &gpus));

	want_six(&w, &waiting, 3, 3);
	waiting.spread.high = 1; /* --nodes=1 */
	assert_int_equal(0, reserved_of(&w, &gpus));

	want_six(&w, &waiting, 3, 3);
	waiting.spread.memory = waiting.each.memory = 4;
	w.nodes[0].left.memory = 8;
	w.nodes[1].left.memory = 3;
	assert_int_equal(2, reserved_of(&w, &gpus));
	w.snapshot.counts_memory = true;
	assert_int_equal(0, reserved_of(&w, &gpus));
	w.nodes[1].left.memory = 4;
	assert_int_equal(2, reserved_of(&w, &gpus));
}

/* One elastic job has both nodes, four GPUs of each; a rigid one the rest. */
static void beside_a_wide_one(struct world *w, struct pollux_waiting *waiting,
			      int left)
{
	want_six(w, waiting, 0, left);
	w->snapshot.job_count = 1;
	w->params.interference = true;
	w->jobs[0].priority = 5;
	w->jobs[0].ends_s = 1000;
	w->gpus[0][0] = w->gpus[0][1] = 4;
	w->inputs[0].most_gpus = 8;
}

static void two_jobs_of_several_nodes_are_not_on_one_node(void **state)
{
	struct pollux_waiting waiting;
	struct world w;
	int gpus = 0;

	(void) state;
	/* It would leave one GPU of each node to the other job. */
	beside_a_wide_one(&w, &waiting, 0);
	assert_int_equal(0, reserved_of(&w, &gpus));
	w.params.interference = false;
	assert_int_equal(2, reserved_of(&w, &gpus));
	assert_int_equal(3, gpus);
}

static void what_is_idle_is_rather_taken_than_what_others_have(void **state)
{
	struct pollux_waiting waiting;
	struct world w;
	int gpus = 0;

	(void) state;
	want_six(&w, &waiting, 3, 3);
	w.snapshot.job_count = 1;
	w.jobs[0].priority = 5;
	w.jobs[0].ends_s = 1000;
	w.gpus[0][0] = 5;
	/* It could shrink, and six would be on the first node. */
	assert_int_equal(2, reserved_of(&w, &gpus));
	assert_false(w.grants[0].displaces);
	w.nodes[1].left.gpus = 0;
	assert_int_equal(1, reserved_of(&w, &gpus));
	assert_int_equal(6, gpus);
	assert_true(w.grants[0].displaces);
}

/*
 * On the first node a job of a type wants a GPU. The node has two of that type,
 * and idle ones of another.
 */
static void room_is_made_by_type(void **state)
{
	int none[NODES] = { 0 };
	int two[NODES] = { 2 };
	int others[NODES] = { GPUS - 2 };
	struct pollux_kind kinds[] = {
		{ .type = "3g.20gb", .free = none, .all = two },
		{ .type = "1g.5gb", .free = others, .all = others },
	};
	struct pollux_waiting waiting;
	struct world w;
	int gpus = 0;

	(void) state;
	set_up(&w);
	want_first(&w, &waiting);
	w.snapshot.kinds = kinds;
	w.snapshot.kind_count = 2;
	waiting.moldable = -1;
	waiting.each.gpus = 1;
	waiting.whole_nodes = waiting.clears = false;
	w.jobs[0].kind = 0;
	w.jobs[1].kind = 1;
	w.gpus[0][0] = 2;
	w.nodes[0].left.gpus = GPUS - 3;
	assert_int_equal(1, reserved_of(&w, &gpus));
	assert_true(w.grants[0].displaces);

	waiting.kind = -1; /* any GPU will do */
	assert_int_equal(1, reserved_of(&w, &gpus));
	assert_false(w.grants[0].displaces);

	/* One that takes any type has some there, who knows of which. */
	waiting.kind = 0;
	w.jobs[0].kind = -1;
	assert_int_equal(1, reserved_of(&w, &gpus));

	/* Others have them, who are not elastic: whom would it help? */
	w.jobs[0].kind = 1;
	assert_int_equal(0, reserved_of(&w, &gpus));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_whole_node_is_left_by_who_yields),
		cmocka_unit_test(
			nobody_leaves_while_a_node_is_about_to_be_free),
		cmocka_unit_test(
			a_parked_job_has_room_on_all_nodes_that_its_user_named),
		cmocka_unit_test(who_may_preempt_parks_whatever_the_priority),
		cmocka_unit_test(a_parked_job_waits_for_who_may_preempt_it),
		cmocka_unit_test(
			parked_jobs_do_not_come_back_while_an_epilog_runs),
		cmocka_unit_test(who_is_on_its_way_is_not_in_the_way),
		cmocka_unit_test(a_job_that_leaves_says_why),
		cmocka_unit_test(
			least_gpus_lie_on_several_nodes_where_none_has_all),
		cmocka_unit_test(they_do_not_where_the_job_may_not),
		cmocka_unit_test(two_jobs_of_several_nodes_are_not_on_one_node),
		cmocka_unit_test(
			what_is_idle_is_rather_taken_than_what_others_have),
		cmocka_unit_test(room_is_made_by_type),
	};

	return cmocka_run_group_tests_name("sched_reservations", tests, NULL,
					   NULL);
}
