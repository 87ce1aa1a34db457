/* SPDX-License-Identifier: MIT */
/*
 * test_plan_reference.c - recorded problems of the published scheduler
 *
 * Our measure of a plan is the published one, and our plans are at least as
 * good as the best known for these problems.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/policy/osdi21.h"
#include "core/search/plan.h"
#include "core/problem/objective.h"
#include "plan_rules.h"
#include "reference.h"

#define FILE_NAME "allocation_fitness_osdi.json"

static struct plx_goodput goodput_of(const json_t *job)
{
	const json_t *range = json_object_get(job, "atomic_bsz_range");

	return (struct plx_goodput){
		.model = reference_model(json_object_get(job, "perf_params")),
		.noise = reference_noise(json_object_get(job, "grad_params")),
		.limits = {
			.base_batch = (int) reference_number(
				job, "init_batch_size"),
			.max_batch = (int) reference_number(
				job, "max_batch_size"),
			.min_per_gpu = (int) json_number_value(
				json_array_get(range, 0)),
			.max_per_gpu = (int) json_number_value(
				json_array_get(range, 1)),
			.accumulate = json_is_true(
				json_object_get(job, "accumulation")),
		},
	};
}

static int max_int(int a, int b)
{
	return a > b ? a : b;
}

static void fill_job(const json_t *from, struct plx_job *job, int id)
{
	job->id = (uint32_t) id;
	job->min_gpus =
		max_int(1, (int) reference_number(from, "min_replicas"));
	job->max_gpus = (int) reference_number(from, "max_replicas");
	job->profiled = !json_object_get(from, "speedup");
	job->profiled_gpus = max_int(1, job->max_gpus);
	job->may_park = true;
	job->age_s = reference_number(from, "age");
	job->restarts = (int) reference_number(from, "num_restarts");
	if (job->profiled)
		job->goodput = goodput_of(from);
}

/* An allocation as recorded: [job, node, replicas] each. */
static void read_rows(const json_t *rows, int nodes, int *gpus)
{
	size_t i;
	json_t *row;

	json_array_foreach(rows, i, row)
	{
		json_int_t job = json_integer_value(json_array_get(row, 0));
		json_int_t node = json_integer_value(json_array_get(row, 1));

		gpus[job * nodes + node] =
			(int) json_integer_value(json_array_get(row, 2));
	}
}

static void fill_nodes(struct plx_problem *problem, const json_t *nodes)
{
	size_t n;
	json_t *node;

	json_array_foreach(nodes, n, node)
	{
		const json_t *resources = json_object_get(node, "resources");

		problem->gpus[n] = (int) reference_number(resources, "gpu");
		problem->gpus_total[n] = problem->gpus[n];
	}
}

static const char *const kinds[] = { "cpu", "pods" };

static double amount_of(const json_t *item, const char *kind)
{
	return json_number_value(
		json_object_get(json_object_get(item, "resources"), kind));
}

static void fill_consumables(struct plx_problem *problem,
			     const json_t *recorded)
{
	const json_t *nodes = json_object_get(recorded, "nodes");
	const json_t *jobs = json_object_get(recorded, "jobs");
	size_t count = ARRAY_SIZE(kinds);

	if (amount_of(json_array_get(nodes, 0), kinds[0]) <= 0)
		return;
	problem->consumable_kinds = (int) count;
	problem->consumables =
		calloc((size_t) problem->node_count * count, sizeof(double));
	assert_non_null(problem->consumables);
	for (size_t i = 0; i < (size_t) problem->node_count * count; i++)
		problem->consumables[i] = amount_of(
			json_array_get(nodes, i / count), kinds[i % count]);
	for (size_t j = 0; j < (size_t) problem->job_count; j++) {
		double *demand = calloc(count, sizeof(double));

		assert_non_null(demand);
		for (size_t k = 0; k < count; k++)
			demand[k] =
				amount_of(json_array_get(jobs, j), kinds[k]);
		problem->jobs[j].demand = demand;
	}
}

static struct plx_problem *problem_of(const json_t *recorded)
{
	const json_t *jobs = json_object_get(recorded, "jobs");
	const json_t *nodes = json_object_get(recorded, "nodes");
	int node_count = (int) json_array_size(nodes);
	int job_count = (int) json_array_size(jobs);
	struct plx_problem *problem =
		plx_problem_create(node_count, job_count, NULL);
	double *shares = calloc((size_t) job_count, sizeof(*shares));
	int *now = calloc((size_t) (job_count * node_count), sizeof(*now));

	assert_true(problem && shares && now);
	problem->interference = true;
	fill_nodes(problem, nodes);
	fill_consumables(problem, recorded);
	read_rows(json_object_get(recorded, "base_state"), node_count, now);
	for (int j = 0; j < job_count; j++) {
		fill_job(json_array_get(jobs, (size_t) j), &problem->jobs[j],
			 j);
		memcpy(problem->jobs[j].now, now + j * node_count,
		       (size_t) node_count * sizeof(*now));
		shares[j] =
			reference_at(recorded, "dominant_share", (size_t) j);
	}
	assert_int_equal(0, plx_osdi21_tables(problem, shares, NULL));
	free(now);
	free(shares);
	return problem;
}

/* The measure of a recorded allocation, and of each job in it. */
static void check_state(const struct plx_problem *problem,
			const json_t *recorded, const json_t *state)
{
	int nodes = problem->node_count;
	int *gpus = calloc((size_t) (problem->job_count * nodes), sizeof(int));

	assert_non_null(gpus);
	read_rows(json_object_get(state, "alloc"), nodes, gpus);
	assert_near(-reference_at(state, "objectives", 0),
		    plx_plan_fitness(problem, gpus), 1e-9);
	for (int j = 0; j < problem->job_count; j++) {
		double share =
			reference_at(recorded, "dominant_share", (size_t) j);
		double speedup =
			plx_speedup(&problem->jobs[j], NULL,
				    shape_of(problem, gpus + j * nodes));

		assert_near(reference_at(state, "job_speedups", (size_t) j),
			    speedup / (share * nodes), 1e-9);
		assert_near(reference_at(recorded, "restart_factor",
					 (size_t) j),
			    problem->jobs[j].table->kept, 1e-12);
	}
	free(gpus);
}

static void our_measure_is_the_published_one(void **state)
{
	json_t *root = reference_load(FILE_NAME);
	json_t *recorded;
	json_t *one;
	size_t c;
	size_t i;

	(void) state;
	json_array_foreach(json_object_get(root, "cases"), c, recorded)
	{
		struct plx_problem *problem = problem_of(recorded);

		json_array_foreach(json_object_get(recorded, "states"), i, one)
			check_state(problem, recorded, one);
		json_array_foreach(json_object_get(recorded, "ga_results"), i,
				   one) check_state(problem, recorded, one);
		plx_problem_destroy(problem);
	}
	json_decref(root);
}

/* The best fitness that anybody has found. */
static double best_known(const json_t *recorded)
{
	const json_t *known = json_object_get(recorded, "best_known");
	double best = known ? -reference_at(known, "objectives", 0) : 0;
	size_t i;
	json_t *one;

	json_array_foreach(json_object_get(recorded, "ga_results"), i, one)
		best = fmax(best, -reference_at(one, "objectives", 0));
	return best;
}

static void our_plans_are_as_good_as_the_best_known(void **state)
{
	json_t *root = reference_load(FILE_NAME);
	json_t *recorded;
	size_t c;

	(void) state;
	json_array_foreach(json_object_get(root, "cases"), c, recorded)
	{
		struct plx_problem *problem = problem_of(recorded);
		struct plx_plan *plan = searched(problem);

		check_plan(problem, plan);
		if (plan->fitness < 0.999 * best_known(recorded))
			fail_msg("%s: fitness %.9g, want %.9g",
				 reference_text(recorded, "name"),
				 plan->fitness, best_known(recorded));
		assert_true(plan->bound >= best_known(recorded) * (1 - 1e-9));
		plx_plan_destroy(plan);
		plx_problem_destroy(problem);
	}
	json_decref(root);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(our_measure_is_the_published_one),
		cmocka_unit_test(our_plans_are_as_good_as_the_best_known),
	};

	return _cmocka_run_group_tests("recorded problems", tests,
				       reference_runnable(ARRAY_SIZE(tests), 2),
				       NULL, NULL);
}
