/* SPDX-License-Identifier: MIT */
/* test_problem.c - a snapshot that makes no sense is refused by name */

#include "random_problem.h"

static struct plx_problem *two_nodes(void)
{
	struct plx_problem *problem = plx_problem_create(2, 2, NULL);
	uint64_t seed = 1;

	assert_non_null(problem);
	for (int n = 0; n < 2; n++)
		problem->gpus[n] = problem->gpus_total[n] = 4;
	for (int j = 0; j < 2; j++) {
		struct plx_job *job = &problem->jobs[j];

		job->id = (uint32_t) (j + 5);
		job->min_gpus = 1;
		job->max_gpus = 8;
		job->profiled = true;
		job->profiled_gpus = 1;
		random_goodput(&seed, &job->goodput, false);
	}
	return problem;
}

static void negative_gpus(struct plx_problem *problem)
{
	problem->gpus[1] = -1;
}

static void too_many_gpus(struct plx_problem *problem)
{
	problem->gpus[1] = 1 << 30;
}

static void no_fairness(struct plx_problem *problem)
{
	problem->fairness = NAN;
}

static void large_fairness(struct plx_problem *problem)
{
	problem->fairness = INFINITY;
}

static void no_minimum(struct plx_problem *problem)
{
	problem->jobs[1].min_gpus = 0;
}

static void crossed_limits(struct plx_problem *problem)
{
	problem->jobs[1].min_gpus = 9;
}

static void nothing_measured(struct plx_problem *problem)
{
	problem->jobs[0].profiled_gpus = 0;
}

static void bad_model(struct plx_problem *problem)
{
	problem->jobs[0].goodput.model.alpha_c = NAN;
}

static void far_home(struct plx_problem *problem)
{
	problem->jobs[0].batch_host = 2;
}

static void no_age(struct plx_problem *problem)
{
	problem->jobs[0].age_s = NAN;
}

static void endless_restart(struct plx_problem *problem)
{
	problem->jobs[0].restart_s = INFINITY;
}

static void negative_now(struct plx_problem *problem)
{
	problem->jobs[1].now[0] = -2;
}

static void over_capacity(struct plx_problem *problem)
{
	problem->jobs[0].now[1] = 3;
	problem->jobs[1].now[1] = 2;
}

static void twins(struct plx_problem *problem)
{
	problem->jobs[1].id = problem->jobs[0].id;
}

static void light_job(struct plx_problem *problem)
{
	problem->jobs[0].weight = -1;
}

static void falling_sizes(struct plx_problem *problem)
{
	struct plx_job *job = &problem->jobs[1];

	job->sizes = calloc(2, sizeof(*job->sizes));
	assert_non_null(job->sizes);
	job->sizes[0] = 4;
	job->sizes[1] = 2;
	job->size_count = 2;
}

/* A table of one shape. */
static struct plx_table *table_of(struct plx_job *job, double speedup)
{
	job->table = calloc(1, sizeof(*job->table));
	assert_non_null(job->table);
	job->table->speedup = malloc(sizeof(double));
	assert_non_null(job->table->speedup);
	job->table->nodes = job->table->gpus = 1;
	job->table->speedup[0] = speedup;
	return job->table;
}

static void endless_speedup(struct plx_problem *problem)
{
	table_of(&problem->jobs[0], INFINITY);
}

static void gain_by_restart(struct plx_problem *problem)
{
	table_of(&problem->jobs[0], 1)->kept = 2;
}

static void empty_table(struct plx_problem *problem)
{
	table_of(&problem->jobs[0], 1)->gpus = 0;
}

static void negative_nodes(struct plx_problem *problem)
{
	problem->node_count = -1;
}

static void crossed_nodes(struct plx_problem *problem)
{
	problem->jobs[0].min_nodes = 2;
	problem->jobs[0].max_nodes = 1;
}

static void negative_node_gpus(struct plx_problem *problem)
{
	problem->jobs[0].node_gpus = -1;
}

static void unknown_bound(struct plx_problem *problem)
{
	problem->jobs[0].max_by = PLX_BOUNDS;
}

static void consumable_of_nothing(struct plx_problem *problem)
{
	problem->consumable_kinds = 1;
}

/* One kind of resource, on both nodes. */
static double *consumables(struct plx_problem *problem)
{
	problem->consumable_kinds = 1;
	problem->consumables = calloc(2, sizeof(*problem->consumables));
	assert_non_null(problem->consumables);
	return problem->consumables;
}

static void negative_consumables(struct plx_problem *problem)
{
	consumables(problem)[1] = -1;
}

static void takes_back(struct plx_problem *problem)
{
	consumables(problem);
	problem->jobs[1].demand = calloc(1, sizeof(double));
	assert_non_null(problem->jobs[1].demand);
	problem->jobs[1].demand[0] = -2;
}

static void no_hysteresis(struct plx_problem *problem)
{
	problem->hysteresis = NAN;
}

static const struct {
	void (*damage)(struct plx_problem *problem);
	const char *why;
} cases[] = {
	/* clang-format off */
	{ negative_gpus,   "node 1: -1 of 4 GPUs: want 0 to 4096" },
	{ too_many_gpus,   "node 1: 1073741824 of 4 GPUs: want 0 to 4096" },
	{ no_fairness,     "fairness nan: want -inf to 10" },
	{ large_fairness,  "fairness inf: want -inf to 10" },
	{ no_minimum,      "job 6: 0 to 8 GPUs: want 1 <= min <= max" },
	{ crossed_limits,  "job 6: 9 to 8 GPUs: want 1 <= min <= max" },
	{ nothing_measured, "job 5: 0 GPUs profiled: want 1 or more" },
	{ bad_model,       "job 5: its goodput has bad numbers" },
	{ far_home,        "job 5: batch host 2 of 2 nodes" },
	{ no_age,	   "job 5: age nan s, 0 restarts of 0 s: want finite "
			   "numbers from 0" },
	{ endless_restart, "job 5: age 0 s, 0 restarts of inf s: want finite "
			   "numbers from 0" },
	{ negative_now,    "job 6 has -2 GPUs on node 0" },
	{ over_capacity,   "node 1: jobs have 5 of its 4 GPUs" },
	{ twins,           "job 5 is there twice" },
	{ light_job,	   "job 5: weight -1: want 0 to 1e+06" },
	{ falling_sizes,   "job 6: size 2: want rising numbers from 1" },
	{ endless_speedup, "job 5: speedup inf: want finite numbers from 0" },
	{ gain_by_restart, "job 5: keeps 2 of its speedup: want 0 to 1" },
	{ empty_table,	   "job 5: its table of speedups is empty" },
	{ negative_nodes,  "-1 nodes and 2 jobs: want 0 to 65536" },
	{ crossed_nodes,   "job 5: 2 to 1 nodes: want 0 <= min <= max" },
	{ negative_node_gpus, "job 5: -1 GPUs a node: want 0 or more" },
	{ unknown_bound,   "job 5: limit of kind 4: want 0 to 3" },
	{ consumable_of_nothing, "1 kinds of resources: want 0 to 64" },
	{ negative_consumables,  "-1 of some resource: want 0 to 1e+15" },
	{ takes_back,	   "-2 of some resource: want 0 to 1e+15" },
	{ no_hysteresis,   "hysteresis nan: want 0 to 1" },
	/* clang-format on */
};

static void what_makes_no_sense_is_refused_by_name(void **state)
{
	(void) state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct plx_problem *problem = two_nodes();
		struct plx_error err = { .text = "" };

		assert_int_equal(0, plx_problem_check(problem, &err));
		cases[i].damage(problem);
		assert_int_equal(-1, plx_problem_check(problem, &err));
		assert_string_equal(cases[i].why, err.text);
		plx_problem_destroy(problem);
	}
}

static void jobs_may_hold_what_was_reserved_since(void **state)
{
	struct plx_problem *problem = two_nodes();

	(void) state;
	problem->jobs[0].now[1] = 4;
	problem->gpus[1] = 0;
	assert_int_equal(0, plx_problem_check(problem, NULL));
	plx_problem_destroy(problem);
}

static void the_most_that_makes_sense_is_taken(void **state)
{
	struct plx_problem *problem = two_nodes();
	struct plx_error err = { .text = "" };

	(void) state;
	problem->hysteresis = 1;
	problem->gpus[0] = problem->gpus_total[0] = 4096;
	if (plx_problem_check(problem, &err) < 0)
		fail_msg("%s", err.text);
	problem->hysteresis = 1.01;
	assert_int_equal(-1, plx_problem_check(problem, &err));
	problem->hysteresis = 1;
	problem->gpus_total[0] = 4097;
	assert_int_equal(-1, plx_problem_check(problem, &err));
	plx_problem_destroy(problem);
}

static void an_absurd_size_is_refused(void **state)
{
	struct plx_error err = { .text = "" };

	(void) state;
	assert_null(plx_problem_create(-1, 1, &err));
	assert_null(plx_problem_create(1, 1 << 30, &err));
	assert_string_equal("1 nodes and 1073741824 jobs: want 0 to 65536 of "
			    "each",
			    err.text);
	plx_problem_destroy(NULL);
}

/* That it may not be parked is another matter. */
static void every_job_may_have_nothing(void **state)
{
	struct plx_problem *problem = two_nodes();
	const int nothing[2] = { 0 };

	(void) state;
	problem->jobs[1].min_gpus = 1;
	problem->jobs[1].min_nodes = 2;
	problem->jobs[1].batch_host = 1;
	assert_true(plx_job_may_have(problem, &problem->jobs[0], nothing));
	assert_true(plx_job_may_have(problem, &problem->jobs[1], nothing));
	plx_problem_destroy(problem);
}

static void a_job_gets_its_own_list_of_nodes(void **state)
{
	struct plx_problem *problem = two_nodes();

	(void) state;
	assert_null(problem->jobs[1].allowed);
	assert_int_equal(0, plx_problem_restrict(problem, 1, NULL));
	assert_true(problem->jobs[1].allowed[0] && problem->jobs[1].allowed[1]);
	assert_null(problem->jobs[0].allowed);
	plx_problem_destroy(problem);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_makes_no_sense_is_refused_by_name),
		cmocka_unit_test(jobs_may_hold_what_was_reserved_since),
		cmocka_unit_test(an_absurd_size_is_refused),
		cmocka_unit_test(a_job_gets_its_own_list_of_nodes),
		cmocka_unit_test(every_job_may_have_nothing),
		cmocka_unit_test(the_most_that_makes_sense_is_taken),
	};

	return cmocka_run_group_tests_name("problem", tests, NULL, NULL);
}
