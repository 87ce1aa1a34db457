/* SPDX-License-Identifier: MIT */
/*
 * test_plan_large.c - plans for more nodes than are looked at one by one, where
 * GPUs take CPUs along
 */

#include <math.h>

#include "core/problem/objective.h"
#include "core/search/plan.h"
#include "core/search/search.h"
#include "plan_world.h"
#include "plan_seen.h"
#include "random_problem.h"

enum { NODES = 60, GPUS = 8, JOBS = 70, ROUNDS = 60 };

/* As much for each GPU of any job, and for each script at its batch host. */
static void count_cpus(struct plx_problem *problem, double each, double script,
		       double node)
{
	problem->consumable_kinds = 1;
	problem->consumables =
		calloc((size_t) problem->node_count, sizeof(double));
	assert_non_null(problem->consumables);
	for (int n = 0; n < problem->node_count; n++)
		problem->consumables[n] = node;
	for (int j = 0; j < problem->job_count; j++) {
		struct plx_job *job = &problem->jobs[j];

		job->demand = calloc(1, sizeof(double));
		job->batch_host_demand = calloc(1, sizeof(double));
		assert_true(job->demand && job->batch_host_demand);
		*job->demand = each;
		*job->batch_host_demand = script;
	}
}

static void forget_cpus(struct plx_problem *problem)
{
	free(problem->consumables);
	problem->consumables = NULL;
	problem->consumable_kinds = 0;
	for (int j = 0; j < problem->job_count; j++) {
		free(problem->jobs[j].demand);
		free(problem->jobs[j].batch_host_demand);
		problem->jobs[j].demand = problem->jobs[j].batch_host_demand =
			NULL;
	}
}

static void with_cpus_for_all_gpus_a_plan_is_as_if_none_were_counted(
	void **state)
{
	const struct random_spec spec = {
		.nodes = NODES, .jobs = JOBS, .gpus = GPUS, .bounded = true
	};
	uint64_t seed = 1;
	int large = 0;

	(void) state;
	for (int i = 0; i < ROUNDS; i++) {
		struct plx_problem *problem = random_problem(&seed, &spec);
		struct plx_plan *plain = searched(problem);
		struct plx_plan *counted;

		/* Not one more than all GPUs and all scripts would take. */
		count_cpus(problem, 2, 1, 2 * GPUS + JOBS);
		counted = searched(problem);
		large += problem->node_count > 24;
		for (int j = 0; j < problem->job_count; j++)
			assert_true(same_row(problem, plain->choices[j].gpus,
					     counted->choices[j].gpus));
		assert_true(plain->fitness == counted->fitness);
		plx_plan_destroy(plain);
		plx_plan_destroy(counted);
		forget_cpus(problem);
		plx_problem_destroy(problem);
	}
	assert_true(large > ROUNDS / 4);
}

static void random_plans_respect_cpus_that_are_short(void **state)
{
	const struct random_spec spec = { .nodes = NODES,
					  .jobs = JOBS,
					  .gpus = GPUS,
					  .rich = true,
					  .stocked = true,
					  .bounded = true };
	struct seen seen = { 0 };
	uint64_t seed = 2;
	int large = 0;

	(void) state;
	for (int i = 0; i < 4 * ROUNDS; i++) {
		struct plx_problem *problem = random_problem(&seed, &spec);
		struct plx_plan *plan = searched(problem);

		large += problem->node_count > 24 && problem->consumables;
		check_plan(problem, plan);
		see_plan(problem, plan, &seen);
		plx_plan_destroy(plan);
		plx_problem_destroy(problem);
	}
	assert_true(large > ROUNDS / 4);
	assert_true(seen.supplied > ROUNDS && seen.left > ROUNDS &&
		    seen.parked > ROUNDS && seen.needed > ROUNDS);
}

/* Every second node has CPUs for half of its GPUs. */
static struct plx_problem *half_starved(uint64_t *seed)
{
	struct plx_problem *problem = cluster(NODES, GPUS, JOBS);

	problem->idle = true;
	for (int j = 0; j < JOBS; j++) {
		problem->jobs[j].max_gpus = 2 * GPUS;
		random_goodput(seed, &problem->jobs[j].goodput, false);
	}
	count_cpus(problem, 1, 0, GPUS);
	for (int n = 0; n < NODES; n += 2)
		problem->consumables[n] = GPUS / 2;
	return problem;
}

static void gpus_are_used_as_far_as_there_are_cpus(void **state)
{
	const int most = NODES / 2 * GPUS + NODES / 2 * (GPUS / 2);
	uint64_t seed = 3;
	struct plx_problem *problem = half_starved(&seed);
	struct plx_plan *plan = searched(problem);
	int used = 0;

	(void) state;
	check_plan(problem, plan);
	for (int j = 0; j < JOBS; j++) {
		assert_true(plan->choices[j].shape.gpus > 0);
		used += plan->choices[j].shape.gpus;
	}
	assert_true(used <= most);
	assert_true(used >= most - most / 90);
	plx_plan_destroy(plan);
	plx_problem_destroy(problem);
}

/* Among many it would look at one where the shape fits, and at some others. */
static void who_may_use_few_nodes_looks_at_all_of_them(void **state)
{
	const struct plx_config config = { .nodes = 1,
					   .per_node = 2,
					   .gpus = 2 };
	struct plx_problem *problem = cluster(NODES, GPUS, JOBS);
	struct plx_search *search = NULL;
	struct plx_search_job *e = NULL;

	(void) state;
	assert_int_equal(0, plx_problem_restrict(problem, 0, NULL));
	for (int n = 0; n < NODES; n++)
		problem->jobs[0].allowed[n] = n % 20 == 7;
	search = plx_search_create(problem, NULL);
	assert_non_null(search);
	for (int j = 0; j < JOBS; j++) {
		if (search->jobs[j].index == 0)
			e = &search->jobs[j];
	}
	assert_non_null(e);
	plx_search_look(search, e, &config, false);
	assert_int_equal(3, search->look_count);
	for (int i = 0; i < search->look_count; i++)
		assert_int_equal(7, search->look[i] % 20);
	plx_search_destroy(search);
	plx_problem_destroy(problem);
}

/*
 * Eight GPUs a node and five for each job: one price for all GPUs would leave
 * three on each node.
 */
static struct plx_problem *crowd_of_fives(void)
{
	static const struct plx_goodput goodput = {
		.model = { .alpha_c = 0.02,
			   .beta_c = 0.002,
			   .alpha_n = 0.01,
			   .beta_n = 0.0005,
			   .alpha_r = 0.005,
			   .beta_r = 0.0002,
			   .gamma = 1.5 },
		.noise = { .sqr = 0.25, .var = 12.5 },
		.limits = { 128, 8192, 1, 256, true },
	};
	struct plx_problem *problem = cluster(NODES, GPUS, NODES * GPUS / 5);

	problem->fairness = 0;
	problem->uniform = true;
	for (int j = 0; j < problem->job_count; j++) {
		struct plx_job *job = &problem->jobs[j];

		job->goodput = goodput;
		job->profiled = true;
		job->profiled_gpus = job->max_gpus = 4 * GPUS;
		job->weight = 1 + 0.002 * j;
	}
	return problem;
}

static void a_first_plan_leaves_no_gpu_that_fits_nobody(void **state)
{
	struct plx_problem *problem = crowd_of_fives();
	struct plx_search *search = plx_search_create(problem, NULL);
	int slots = 0;
	int parked = 0;

	(void) state;
	assert_non_null(search);
	assert_true(plx_slots_matter(search));
	plx_search_repair(search);
	assert_true(plx_slots_pack(search));
	for (int j = 0; j < search->job_count; j++) {
		slots += search->jobs[j].at.count;
		parked += search->jobs[j].at.count == 0;
	}
	assert_true(parked <= search->job_count / 50);
	/* Some are on several nodes, as fives alone leave threes. */
	assert_true(slots > search->job_count + search->job_count / 10);
	plx_search_destroy(search);
	plx_problem_destroy(problem);
}

static void where_sizes_do_not_fit_nodes_a_plan_is_near_its_bound(void **state)
{
	struct plx_problem *problem = crowd_of_fives();
	struct plx_plan *plan = searched(problem);

	(void) state;
	check_plan(problem, plan);
	print_message("# %.6f of %.6f\n", plan->fitness, plan->bound);
	assert_true(plan->fitness >= 0.985 * plan->bound);
	plx_plan_destroy(plan);
	plx_problem_destroy(problem);
}

/* Hysteresis raises what jobs have, and so the price of GPUs. */
static void the_bound_is_that_of_a_cluster_without_hysteresis(void **state)
{
	struct plx_problem *problem = crowd_of_fives();
	struct plx_plan *first = searched(problem);
	struct plx_plan *calm;
	struct plx_plan *plan;

	(void) state;
	for (int j = 0; j < problem->job_count; j++)
		memcpy(problem->jobs[j].now, first->choices[j].gpus,
		       (size_t) problem->node_count * sizeof(int));
	problem->hysteresis = 0;
	calm = searched(problem);
	problem->hysteresis = 0.08;
	plan = searched(problem);
	print_message("# %.6f, without %.6f\n", plan->bound, calm->bound);
	assert_true(fabs(plan->bound - calm->bound) < 1e-3);
	plx_plan_destroy(plan);
	plx_plan_destroy(calm);
	plx_plan_destroy(first);
	plx_problem_destroy(problem);
}

/* Of each move, twice: it is made if just less is asked of it. */
static int moves_given_up_in_vain(struct plx_search *search,
				  struct plx_search_job *e, int *moves)
{
	int lost = 0;

	for (int i = 0; !e->fixed && i < e->candidate_count; i++) {
		uint64_t random = search->random;
		double gain;

		if (!plx_search_move(search, e, i))
			continue;
		gain = plx_move_gain(search);
		*moves += search->touched_count > 1;
		plx_move_undo(search);
		search->random = random;
		search->least_gain = gain - 1e-9 * (1 + fabs(gain));
		lost += !plx_search_move(search, e, i) ||
			fabs(plx_move_gain(search) - gain) > 1e-9;
		plx_move_undo(search);
		search->least_gain = -INFINITY;
	}
	return lost;
}

static void no_move_that_gains_enough_is_given_up(void **state)
{
	const struct random_spec spec = { .nodes = NODES,
					  .jobs = JOBS,
					  .gpus = GPUS,
					  .rich = true,
					  .stocked = true,
					  .wired = true };
	uint64_t seed = 7;
	int moves = 0;

	(void) state;
	for (int i = 0; i < ROUNDS; i++) {
		struct plx_problem *problem = random_problem(&seed, &spec);
		struct plx_search *search;

		problem->hysteresis = i % 2 ? 0.5 : 0.005;
		search = plx_search_create(problem, NULL);
		assert_non_null(search);
		plx_search_repair(search);
		for (int j = 0; search->indexed && j < search->job_count; j++)
			assert_int_equal(0, moves_given_up_in_vain(
						    search, &search->jobs[j],
						    &moves));
		plx_search_destroy(search);
		plx_problem_destroy(problem);
	}
	assert_true(moves > 1000);
}

/* Jobs of one program and of different weights, on even shapes. */
static struct plx_problem *weighted(uint64_t *seed)
{
	struct plx_problem *problem = cluster(120, 8, 192);

	problem->idle = true;
	problem->fairness = 0;
	problem->hysteresis = PLX_HYSTERESIS;
	for (int j = 0; j < problem->job_count; j++) {
		problem->jobs[j].max_gpus = 32;
		problem->jobs[j].weight = unit_uniform(seed, 0.5, 1);
	}
	return problem;
}

/* In the order of ids it is 0.0041 of the bound, on average. */
static void with_those_first_who_regret_most_plans_are_near_their_bound(
	void **state)
{
	double gaps = 0;

	(void) state;
	for (uint64_t i = 1; i <= 40; i++) {
		uint64_t seed = i;
		struct plx_problem *problem = weighted(&seed);
		struct plx_plan *plan = searched(problem);

		gaps += 1 - plan->fitness / plan->bound;
		done(problem, plan);
	}
	assert_true(gaps / 40 < 0.0035);
}

static bool stop_now(void *unused)
{
	(void) unused;
	return true;
}

/*
 * To each of these the eighth GPU of its node is worth next to nothing. The
 * newcomer weighs so little that no plan seems better than the one in which it
 * has nothing, and the search is asked to stop at once.
 */
static void whoever_comes_to_a_large_plan_is_let_in_at_once(void **state)
{
	(void) state;
	for (int last = 0; last < 2; last++) {
		struct plx_problem *problem = cluster(NODES, GPUS, NODES + 1);
		int newcomer = last ? NODES : 0;
		struct plx_plan *plan;

		problem->stop = stop_now;
		problem->hysteresis = 0;
		for (int n = 0; n < NODES; n++) {
			struct plx_job *job = &problem->jobs[n + !last];

			job->goodput.model.alpha_c = 1;
			job->goodput.model.beta_c = 1e-4;
			job->goodput.limits.max_batch =
				job->goodput.limits.base_batch;
			job->max_gpus = GPUS;
			job->restart_s = 0;
			job->now[n] = GPUS;
		}
		problem->jobs[newcomer].weight = 4e-6;
		problem->fairness = -1;
		plan = searched(problem);
		assert_true(plan->choices[newcomer].shape.gpus > 0);
		done(problem, plan);
	}
}

/* Of all GPUs of the node, those that are with others than job j. */
static int taken_by_others(const struct plx_problem *problem,
			   const struct plx_plan *plan, int j, int n)
{
	int taken = -plan->choices[j].gpus[n];

	for (int k = 0; k < problem->job_count; k++)
		taken += plan->choices[k].gpus[n];
	return taken;
}

/* Its value in the mean on a row. */
static double value_on(const struct plx_problem *problem, int j, const int *row)
{
	const struct plx_job *job = &problem->jobs[j];
	struct plx_yardstick fair = plx_fair_share(problem, job);

	return PLX_SPEEDUP_FLOOR +
	       plx_job_value(job, &fair, shape_of(problem, row),
			     !same_row(problem, row, job->now));
}

/* How many times better job j would do on one node, taking from nobody. */
static double could_gain(const struct plx_problem *problem,
			 const struct plx_plan *plan, int j)
{
	const int *has = plan->choices[j].gpus;
	double best = value_on(problem, j, has);

	for (int n = 0; n < problem->node_count; n++) {
		int residual =
			problem->gpus[n] - taken_by_others(problem, plan, j, n);
		int row[NODES] = { 0 };

		for (row[n] = 1; row[n] <= residual; row[n]++) {
			if (row_allowed(problem, &problem->jobs[j], row))
				best = fmax(best, value_on(problem, j, row));
		}
	}
	return best / value_on(problem, j, has);
}

/* What counts may be worth that were not asked for is not known. */
static void hardly_a_job_would_do_better_with_what_is_free(void **state)
{
	static const double powers[] = { -1, 0, 1 };
	const struct random_spec spec = {
		.nodes = NODES, .jobs = JOBS, .gpus = GPUS, .calm = true
	};
	uint64_t seed = 9;
	int jobs = 0;
	int count = 0;

	(void) state;
	for (int i = 0; i < UNIT_CASES(240); i++) {
		struct plx_problem *problem = random_problem(&seed, &spec);
		struct plx_plan *plan;

		problem->fairness = powers[i % 3];
		problem->hysteresis = 0;
		plan = searched(problem);
		for (int j = 0; j < problem->job_count; j++) {
			double gain = could_gain(problem, plan, j);

			jobs++;
			count += gain > 1.01;
		}
		plx_plan_destroy(plan);
		plx_problem_destroy(problem);
	}
	if (count * 500 > jobs)
		fail_msg("%d of %d jobs", count, jobs);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(
			whoever_comes_to_a_large_plan_is_let_in_at_once),
		cmocka_unit_test(
			hardly_a_job_would_do_better_with_what_is_free),
		cmocka_unit_test(
			with_those_first_who_regret_most_plans_are_near_their_bound),
		cmocka_unit_test(no_move_that_gains_enough_is_given_up),
		cmocka_unit_test(a_first_plan_leaves_no_gpu_that_fits_nobody),
		cmocka_unit_test(
			where_sizes_do_not_fit_nodes_a_plan_is_near_its_bound),
		cmocka_unit_test(
			the_bound_is_that_of_a_cluster_without_hysteresis),
		cmocka_unit_test(
			with_cpus_for_all_gpus_a_plan_is_as_if_none_were_counted),
		cmocka_unit_test(random_plans_respect_cpus_that_are_short),
		cmocka_unit_test(gpus_are_used_as_far_as_there_are_cpus),
		cmocka_unit_test(who_may_use_few_nodes_looks_at_all_of_them),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
