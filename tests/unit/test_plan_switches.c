/* SPDX-License-Identifier: MIT */
/* test_plan_switches.c - on which switches jobs of several nodes are */

#include "core/problem/objective.h"
#include "plan_world.h"

/* For jobs that have measured nothing of it. */
static void price(struct plx_problem *problem, double cost)
{
	problem->switch_cost = cost;
	for (int j = 0; j < problem->job_count; j++)
		problem->jobs[j].goodput.model.per_switch = 0;
	plx_problem_price(problem);
}

/*
 * Nodes of 4 GPUs, in turn on each of so many switches, so that neighbours by
 * number are on different ones.
 */
static struct plx_problem *wired(int nodes, int switches, int jobs)
{
	struct plx_problem *problem = cluster(nodes, 4, jobs);

	assert_int_equal(0, plx_problem_add_switches(problem, NULL));
	for (int n = 0; n < nodes; n++)
		problem->switches[n] = n % switches;
	price(problem, PLX_SWITCH_COST);
	return problem;
}

/* Job j has all GPUs of this node, and its script there. */
static void put(struct plx_problem *problem, int j, int n)
{
	problem->jobs[j].now[n] = 4;
	problem->jobs[j].batch_host = n;
}

static int span(const struct plx_problem *problem, const struct plx_plan *plan,
		int j)
{
	return switches_of(problem, plan->choices[j].gpus);
}

static void a_job_grows_on_its_own_switch(void **state)
{
	(void) state;
	for (int n = 0; n < 8; n++) {
		struct plx_problem *problem = wired(8, 2, 1);
		struct plx_plan *plan;

		put(problem, 0, n);
		problem->jobs[0].max_gpus = 16;
		plan = searched(problem);
		assert_choice(plan, 0, 16, "grows 4 -> 16 GPUs on 4 nodes: ");
		assert_int_equal(1, span(problem, plan, 0));
		done(problem, plan);
	}
}

/* Of equal goodput, the plan on fewer switches, whatever these cost. */
static void a_job_that_measured_nothing_does_so_too(void **state)
{
	struct plx_problem *problem = wired(8, 2, 1);
	struct plx_plan *plan;

	(void) state;
	put(problem, 0, 3);
	problem->jobs[0].profiled = false;
	problem->jobs[0].max_gpus = 12;
	price(problem, 0);
	plan = searched(problem);
	assert_choice(plan, 0, 12, "grows 4 -> 12 GPUs on 3 nodes: ");
	assert_int_equal(1, span(problem, plan, 0));
	done(problem, plan);
}

static void another_switch_is_taken_where_that_pays(void **state)
{
	struct plx_problem *problem = wired(4, 2, 1);
	struct plx_plan *plan;

	(void) state;
	put(problem, 0, 0);
	plan = searched(problem);
	assert_choice(plan, 0, 16, "grows 4 -> 16 GPUs on 4 nodes: ");
	assert_int_equal(2, span(problem, plan, 0));
	assert_int_equal(1, plan->choices[0].shape.further);
	plx_plan_destroy(plan);
	/* An all-reduce that takes 100 times as long does not. */
	price(problem, 99);
	plan = searched(problem);
	assert_choice(plan, 0, 8, "grows 4 -> 8 GPUs on 2 nodes: ");
	assert_int_equal(1, span(problem, plan, 0));
	done(problem, plan);
}

static void a_job_pays_what_it_has_measured(void **state)
{
	struct plx_problem *problem = wired(4, 2, 1);
	double *measured = &problem->jobs[0].goodput.model.per_switch;
	struct plx_plan *plan;

	(void) state;
	put(problem, 0, 0);
	price(problem, 99);
	*measured = 1e-8;
	plan = searched(problem);
	assert_choice(plan, 0, 16, "grows 4 -> 16 GPUs on 4 nodes: ");
	assert_int_equal(2, span(problem, plan, 0));
	plx_plan_destroy(plan);
	price(problem, 0);
	*measured = 99;
	plan = searched(problem);
	assert_choice(plan, 0, 8, "grows 4 -> 8 GPUs on 2 nodes: ");
	assert_int_equal(1, span(problem, plan, 0));
	done(problem, plan);
}

/* Both could grow onto the switch between theirs. */
static void the_second_switch_goes_to_whom_it_costs_less(void **state)
{
	static const int of[] = { 0, 1, 2, 2 };
	struct plx_problem *problem = wired(4, 3, 2);
	struct plx_job *job = problem->jobs;
	struct plx_plan *plan;

	(void) state;
	memcpy(problem->switches, of, sizeof(of));
	put(problem, 0, 0);
	put(problem, 1, 1);
	problem->switch_cost = 0; /* they have measured more */
	for (int dear = 0; dear < 2; dear++) {
		job[dear].goodput.model.per_switch = 99;
		job[!dear].goodput.model.per_switch = 0.1;
		plan = searched(problem);
		assert_int_equal(4, plan->choices[dear].shape.gpus);
		assert_int_equal(12, plan->choices[!dear].shape.gpus);
		check_plan(problem, plan);
		plx_plan_destroy(plan);
	}
	plx_problem_destroy(problem);
}

static void where_one_switch_is_too_small_it_says_so(void **state)
{
	struct plx_problem *problem = wired(4, 2, 2);
	struct plx_plan *plan;

	(void) state;
	/* Another job has half of its switch, for good. */
	put(problem, 0, 0);
	put(problem, 1, 2);
	problem->jobs[1].fixed = true;
	price(problem, 99);
	plan = searched(problem);
	assert_choice(plan, 0, 4, "stays: 4 GPUs, 8 would add ");
	assert_non_null(strstr(plan->choices[0].why,
			       ": they do not fit on one switch"));
	done(problem, plan);
}

static void its_user_may_bind_it_to_one(void **state)
{
	struct plx_problem *problem = wired(6, 3, 1);
	struct plx_plan *plan;

	(void) state;
	put(problem, 0, 0);
	problem->switch_cost = 0;
	for (int most = 1; most <= 3; most++) {
		problem->jobs[0].max_switches = most;
		plan = searched(problem);
		assert_choice(plan, 0, 8 * most, "grows 4 -> ");
		assert_int_equal(most, span(problem, plan, 0));
		plx_plan_destroy(plan);
	}
	memcpy(problem->jobs[0].now, ((int[]){ 4, 0, 0, 4, 0, 0 }),
	       6 * sizeof(int));
	problem->jobs[0].max_switches = 1;
	plan = searched(problem);
	assert_choice(plan, 0, 8,
		      "stays: 8 GPUs on 1 switch, as many switches as it may "
		      "have");
	plx_plan_destroy(plan);
	problem->uniform = false;
	problem->jobs[0].max_switches = 2;
	plan = searched(problem);
	assert_choice(plan, 0, 16, "grows 8 -> 16 GPUs on 4 nodes");
	assert_int_equal(2, span(problem, plan, 0));
	done(problem, plan);
}

/* Nor does a placement that has no other use for what is left break it. */
static void uneven_shapes_keep_to_it_as_well(void **state)
{
	struct plx_problem *problem = wired(4, 2, 1);
	struct plx_plan *plan;

	(void) state;
	put(problem, 0, 0);
	problem->idle = true;
	problem->gpus[2] = problem->gpus_total[2] = 3;
	price(problem, 0);
	problem->jobs[0].max_switches = 1;
	plan = searched(problem);
	assert_choice(plan, 0, 7, "grows 4 -> 7 GPUs on 2 nodes");
	assert_int_equal(1, span(problem, plan, 0));
	done(problem, plan);
}

static void a_job_is_on_as_few_switches_as_hold_it(void **state)
{
	static const int of[] = { 0, 1, 2, 2, 3, 2, 1, 2 };
	struct plx_problem *problem = wired(8, 4, 1);
	struct plx_plan *plan;

	(void) state;
	memcpy(problem->switches, of, sizeof(of));
	problem->jobs[0].min_gpus = problem->jobs[0].max_gpus = 24;
	for (int i = 0; i < 2; i++) {
		problem->uniform = i == 0;
		plan = searched(problem);
		assert_choice(plan, 0, 24, "gets 24 GPUs on 6 nodes");
		assert_int_equal(2, span(problem, plan, 0));
		plx_plan_destroy(plan);
	}
	plan = searched(problem);
	done(problem, plan);
}

static void it_takes_the_smallest_that_holds_it(void **state)
{
	static const int of[] = { 0, 0, 0, 0, 1, 1, 1, 2 };
	struct plx_problem *problem = wired(8, 4, 1);
	struct plx_plan *plan;

	(void) state;
	memcpy(problem->switches, of, sizeof(of));
	problem->jobs[0].min_gpus = problem->jobs[0].max_gpus = 8;
	plan = searched(problem);
	assert_choice(plan, 0, 8, "gets 8 GPUs on 2 nodes");
	for (int n = 0; n < 8; n++)
		assert_true(plan->choices[0].gpus[n] == 0 || of[n] == 1);
	done(problem, plan);
}

static void a_job_that_spans_two_goes_together_where_that_pays(void **state)
{
	struct plx_problem *problem = wired(4, 2, 1);
	struct plx_job *job = &problem->jobs[0];
	struct plx_plan *plan;

	(void) state;
	put(problem, 0, 0);
	job->now[1] = 4;
	job->min_gpus = job->max_gpus = 8;
	problem->hysteresis = 0.08;
	plan = searched(problem);
	assert_choice(plan, 0, 8, "stays: ");
	assert_int_equal(2, span(problem, plan, 0));
	plx_plan_destroy(plan);
	price(problem, 10);
	plan = searched(problem);
	assert_choice(plan, 0, 8, "moves 8 GPUs to other nodes: ");
	assert_int_equal(1, span(problem, plan, 0));
	done(problem, plan);
}

/* A job of one GPU goes to the other switch. */
static void who_is_in_the_way_goes(void **state)
{
	struct plx_problem *problem = wired(4, 2, 2);
	struct plx_plan *plan;

	(void) state;
	put(problem, 0, 0);
	problem->jobs[0].max_gpus = 8;
	problem->jobs[1].now[2] = 1;
	problem->jobs[1].max_gpus = 1;
	price(problem, 10);
	plan = searched(problem);
	assert_choice(plan, 0, 8, "grows 4 -> 8 GPUs on 2 nodes");
	assert_int_equal(1, span(problem, plan, 0));
	assert_choice(plan, 1, 1, "moves 1 GPU to other nodes");
	done(problem, plan);
}

/* Of jobs on several nodes, those on several switches. */
static int wide_jobs(const struct plx_problem *problem,
		     const struct plx_plan *plan, const int *of)
{
	int wide = 0;

	for (int j = 0; j < problem->job_count; j++) {
		int first = -1;
		bool several = false;

		for (int n = 0; n < problem->node_count; n++) {
			if (plan->choices[j].gpus[n] == 0)
				continue;
			several = several || (first >= 0 && of[n] != first);
			first = of[n];
		}
		wide += several;
	}
	return wide;
}

/* More nodes than are looked at one by one, and other resources or none. */
static void large_clusters_are_planned_by_switches(void **state)
{
	(void) state;
	for (int i = 0; i < 2; i++) {
		struct plx_problem *problem = wired(120, 10, 30);
		struct plx_plan *plan;
		int *of = problem->switches;
		int without;

		problem->consumable_kinds = i;
		if (i > 0)
			problem->consumables = calloc(120, sizeof(double));
		for (int j = 0; j < 30; j++) {
			problem->jobs[j].profiled_gpus = 4 + 4 * (j % 5);
			problem->jobs[j].max_gpus = 8 + 4 * (j % 5);
		}
		problem->switches = NULL;
		plan = searched(problem);
		without = wide_jobs(problem, plan, of);
		plx_plan_destroy(plan);
		problem->switches = of;
		plan = searched(problem);
		print_message("# %d nodes, %d jobs: %d on several switches, "
			      "%d where these are not known\n",
			      120, 30, wide_jobs(problem, plan, of), without);
		assert_true(without >= 10);
		assert_true(wide_jobs(problem, plan, of) * 10 <= without);
		done(problem, plan);
	}
}

/* Asked of malloc() by the search: see the linker's --wrap. */
static size_t asked_bytes;

void *__real_malloc(size_t size);
void *__wrap_malloc(size_t size);

void *__wrap_malloc(size_t size)
{
	asked_bytes += size;
	return __real_malloc(size);
}

static size_t bytes_of_search(double switch_cost)
{
	struct plx_problem *problem = wired(1024, 2, 4);
	struct plx_plan *plan = NULL;
	size_t bytes = 0;

	for (int j = 0; j < 4; j++)
		put(problem, j, j);
	price(problem, switch_cost);
	asked_bytes = 0;
	plan = searched(problem);
	bytes = asked_bytes;
	done(problem, plan);
	return bytes;
}

/* On two nodes and on more, of the eight ways in which switches are priced. */
static void values_are_kept_of_the_switches_that_there_are(void **state)
{
	size_t free_of_price = bytes_of_search(0);
	size_t priced = bytes_of_search(PLX_SWITCH_COST);
	const size_t row = 4097 * sizeof(double);

	(void) state;
	assert_true(free_of_price > 4 * row);
	assert_true(priced < free_of_price + 4 * 3 * row);
}

static void nonsense_about_switches_is_refused(void **state)
{
	struct plx_problem *problem = wired(4, 2, 1);
	struct plx_error err;

	(void) state;
	problem->switches[3] = 4;
	assert_int_equal(-1, plx_problem_check(problem, &err));
	assert_string_equal("node 3: switch 4 of 4 nodes", err.text);
	problem->switches[3] = 1;
	problem->switch_cost = NAN;
	assert_int_equal(-1, plx_problem_check(problem, &err));
	problem->switch_cost = 0;
	problem->jobs[0].max_switches = -1;
	assert_int_equal(-1, plx_problem_check(problem, &err));
	assert_string_equal("job 1: -1 switches: want 0 or more", err.text);
	plx_problem_destroy(problem);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_job_grows_on_its_own_switch),
		cmocka_unit_test(a_job_that_measured_nothing_does_so_too),
		cmocka_unit_test(another_switch_is_taken_where_that_pays),
		cmocka_unit_test(a_job_pays_what_it_has_measured),
		cmocka_unit_test(the_second_switch_goes_to_whom_it_costs_less),
		cmocka_unit_test(where_one_switch_is_too_small_it_says_so),
		cmocka_unit_test(its_user_may_bind_it_to_one),
		cmocka_unit_test(uneven_shapes_keep_to_it_as_well),
		cmocka_unit_test(a_job_is_on_as_few_switches_as_hold_it),
		cmocka_unit_test(it_takes_the_smallest_that_holds_it),
		cmocka_unit_test(
			a_job_that_spans_two_goes_together_where_that_pays),
		cmocka_unit_test(who_is_in_the_way_goes),
		cmocka_unit_test(large_clusters_are_planned_by_switches),
		cmocka_unit_test(
			values_are_kept_of_the_switches_that_there_are),
		cmocka_unit_test(nonsense_about_switches_is_refused),
	};

	return cmocka_run_group_tests_name("switches", tests, NULL, NULL);
}
