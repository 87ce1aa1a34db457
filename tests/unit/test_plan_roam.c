/* SPDX-License-Identifier: MIT */
/* test_plan_roam.c - jobs that need no GPU on the node of their script */

#include "core/search/plan.h"
#include "core/reserve/reservation.h"
#include "core/reserve/circular_wait.h"
#include "plan_rules.h"
#include "random_problem.h"

enum { NODES = 4, GPUS = 4, JOBS = 4 };

/* A cluster of jobs whose GPUs, 1 or 4, are all on the node of their script. */
static struct plx_problem *cluster(const int *batch_hosts, int held)
{
	struct plx_problem *problem = plx_problem_create(NODES, JOBS, NULL);

	assert_non_null(problem);
	problem->interference = problem->uniform = problem->idle = true;
	for (int n = 0; n < NODES; n++)
		problem->gpus[n] = problem->gpus_total[n] = GPUS;
	for (int j = 0; j < JOBS; j++) {
		struct plx_job *job = &problem->jobs[j];

		job->id = (uint32_t) (j + 1);
		job->min_gpus = 1;
		job->max_gpus = NODES * GPUS;
		job->profiled_gpus = NODES * GPUS;
		job->may_park = true;
		job->batch_host = batch_hosts[j];
		job->roams = true;
		job->now[batch_hosts[j]] = held;
	}
	return problem;
}

static int idle(const struct plx_problem *problem, const struct plx_plan *plan)
{
	int gpus = 0;

	for (int n = 0; n < NODES; n++)
		gpus += problem->gpus[n];
	for (int j = 0; j < JOBS; j++)
		gpus -= plan->choices[j].shape.gpus;
	return gpus;
}

static void four_that_start_on_one_node_share_them_all(void **state)
{
	static const int batch_hosts[JOBS] = { 0, 0, 0, 0 };
	struct plx_problem *problem = cluster(batch_hosts, 1);
	struct plx_plan *plan = searched(problem);

	(void) state;
	assert_int_equal(0, idle(problem, plan));
	for (int j = 0; j < JOBS; j++)
		assert_int_equal(GPUS, plan->choices[j].shape.gpus);
	plx_plan_destroy(plan);

	/* Bound to it, only one of them may be on several nodes. */
	for (int j = 0; j < JOBS; j++)
		problem->jobs[j].roams = false;
	plan = searched(problem);
	assert_true(idle(problem, plan) > 0 ||
		    plan->choices[0].shape.gpus == 1 ||
		    plan->choices[JOBS - 1].shape.gpus == 1);
	plx_plan_destroy(plan);
	plx_problem_destroy(problem);
}

/* Somebody wants all GPUs of the first node: only who is there goes. */
static void nobody_moves_who_could_stay(void **state)
{
	static const int batch_hosts[JOBS] = { 0, 1, 2, 3 };
	struct plx_problem *problem = cluster(batch_hosts, GPUS);
	struct plx_plan *plan = NULL;

	(void) state;
	problem->gpus[0] = 0;
	plan = searched(problem);
	assert_int_equal(0, idle(problem, plan));
	for (int j = 1; j < JOBS; j++)
		assert_true(plan->choices[j].gpus[j] > 0);
	assert_int_equal(0, plan->choices[0].gpus[0]);
	plx_plan_destroy(plan);
	plx_problem_destroy(problem);
}

/* What the script keeps is not for others; what is there counts for it. */
static void a_script_keeps_its_part_of_the_consumables(void **state)
{
	static const int batch_hosts[JOBS] = { 0, 0, 0, 0 };
	struct plx_problem *problem = cluster(batch_hosts, 1);
	struct plx_plan *plan = NULL;
	int there = 0;

	(void) state;
	problem->consumable_kinds = 1;
	problem->consumables = calloc(NODES, sizeof(double));
	for (int n = 0; n < NODES; n++)
		problem->consumables[n] = GPUS + 2;
	for (int j = 0; j < JOBS; j++) {
		problem->jobs[j].demand = calloc(1, sizeof(double));
		problem->jobs[j].batch_host_demand = calloc(1, sizeof(double));
		problem->jobs[j].demand[0] = 1;
		problem->jobs[j].batch_host_demand[0] = 1;
	}
	plan = searched(problem);
	for (int j = 0; j < JOBS; j++)
		there += plan->choices[j].gpus[0] > 0 ? plan->choices[j].gpus[0]
						      : 1;
	assert_true(there <= GPUS + 2);
	assert_true(idle(problem, plan) <= 1);
	plx_plan_destroy(plan);
	plx_problem_destroy(problem);
}

static void a_limit_of_nodes_counts_the_scripts(void **state)
{
	static const int batch_hosts[JOBS] = { 0, 0, 0, 0 };
	struct plx_problem *problem = cluster(batch_hosts, 1);
	struct plx_plan *plan = NULL;

	(void) state;
	for (int j = 0; j < JOBS; j++)
		problem->jobs[j].max_nodes = 2;
	plan = searched(problem);
	for (int j = 0; j < JOBS; j++) {
		int nodes = plan->choices[j].shape.nodes;

		assert_true(nodes < 2 ||
			    (nodes == 2 && plan->choices[j].gpus[0] > 0));
	}
	assert_true(idle(problem, plan) < GPUS);
	plx_plan_destroy(plan);
	plx_problem_destroy(problem);
}

/* Three in a ring, each to have the next one's node: none of them can begin. */
static void a_ring_is_broken_by_who_keeps_its_least(void **state)
{
	static const int batch_hosts[JOBS] = { 0, 1, 2, 3 };
	static const bool acts[JOBS] = { true, true, true, false };
	static const int idle[NODES] = { 0 };
	struct plx_problem *problem = cluster(batch_hosts, GPUS);
	struct plx_plan *plan = searched(problem);
	int gpus[NODES] = { 0 };
	uint32_t other = 0;
	int j;

	(void) state;
	for (j = 0; j < 3; j++) {
		memset(plan->choices[j].gpus, 0, sizeof(gpus));
		plan->choices[j].gpus[(j + 1) % 3] = GPUS;
	}
	j = plx_circular_wait(problem, plan, acts, idle, gpus, &other);
	assert_int_equal(0, j);
	assert_int_equal(3, other);
	assert_int_equal(1, gpus[0]);
	problem->jobs[0].min_gpus = GPUS;
	j = plx_circular_wait(problem, plan, acts, idle, gpus, &other);
	assert_int_equal(1, j);
	plx_plan_destroy(plan);
	plx_problem_destroy(problem);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(four_that_start_on_one_node_share_them_all),
		cmocka_unit_test(nobody_moves_who_could_stay),
		cmocka_unit_test(a_script_keeps_its_part_of_the_consumables),
		cmocka_unit_test(a_limit_of_nodes_counts_the_scripts),
		cmocka_unit_test(a_ring_is_broken_by_who_keeps_its_least),
	};

	return cmocka_run_group_tests_name("roam", tests, NULL, NULL);
}
