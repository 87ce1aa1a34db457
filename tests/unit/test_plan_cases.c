/* SPDX-License-Identifier: MIT */
/* test_plan_cases.c - single situations, and what is decided in them */

#include "core/search/plan.h"
#include "plan_world.h"
#include "random_problem.h"

static void a_lone_job_grows_and_says_so(void **state)
{
	struct plx_problem *problem = cluster(2, 4, 1);
	struct plx_plan *plan;

	(void) state;
	problem->jobs[0].now[1] = 1;
	problem->jobs[0].batch_host = 1;
	plan = searched(problem);
	assert_choice(plan, 0, 8, "grows 1 -> 8 GPUs on 2 nodes: goodput ");
	done(problem, plan);
}

static void a_job_at_most_doubles_what_it_measured(void **state)
{
	struct plx_problem *problem = cluster(1, 4, 1);
	struct plx_plan *plan;

	(void) state;
	problem->jobs[0].profiled_gpus = 1;
	problem->jobs[0].now[0] = 2;
	plan = searched(problem);
	assert_choice(plan, 0, 2,
		      "stays: at most twice the 1 GPU measured so far");
	done(problem, plan);
}

static void a_job_stops_at_its_limit(void **state)
{
	struct plx_problem *problem = cluster(1, 4, 1);
	struct plx_plan *plan;

	(void) state;
	problem->jobs[0].max_gpus = 2;
	problem->jobs[0].now[0] = 2;
	plan = searched(problem);
	assert_choice(plan, 0, 2,
		      "stays: at its limit of 2 GPUs (its max=), 3 would add ");
	done(problem, plan);
}

static void a_job_keeps_to_as_many_nodes_as_it_may_have(void **state)
{
	struct plx_problem *problem = cluster(3, 4, 1);
	struct plx_plan *plan;

	(void) state;
	problem->jobs[0].max_nodes = 1;
	problem->jobs[0].now[0] = 2;
	plan = searched(problem);
	assert_choice(plan, 0, 4, "grows 2 -> 4 GPUs on 1 node: ");
	plx_plan_destroy(plan);
	problem->jobs[0].now[0] = 4;
	plan = searched(problem);
	assert_choice(plan, 0, 4,
		      "stays: 4 GPUs on 1 node, as many nodes as it may have");
	plx_plan_destroy(plan);
	problem->jobs[0].max_nodes = 2;
	problem->uniform = false;
	plan = searched(problem);
	assert_choice(plan, 0, 8, "grows 4 -> 8 GPUs on 2 nodes: ");
	done(problem, plan);
}

static bool stop_now(void *unused)
{
	(void) unused;
	return true;
}

/*
 * It weighs so little that no plan seems better than the one in which it has
 * nothing.
 */
static void whoever_is_parked_gets_what_is_free_before_all_else(void **state)
{
	(void) state;
	for (int j = 0; j < 2; j++) {
		struct plx_problem *problem = cluster(1, 4, 2);
		struct plx_plan *plan;

		problem->jobs[j].weight = 1e-9;
		problem->jobs[!j].now[0] = 3;
		problem->jobs[!j].max_gpus = 3;
		problem->stop = stop_now;
		plan = searched(problem);
		assert_int_equal(1, plan->choices[j].shape.gpus);
		assert_int_equal(3, plan->choices[!j].shape.gpus);
		done(problem, plan);
	}
}

/* Four and three, beside one that has the eighth and is worth all else. */
static void all_that_is_free_may_be_one_uneven_shape(void **state)
{
	struct plx_problem *problem = cluster(2, 4, 2);
	struct plx_plan *plan;

	(void) state;
	problem->uniform = false;
	problem->interference = false;
	problem->jobs[0].weight = 1e-9;
	problem->jobs[0].min_gpus = problem->jobs[0].max_gpus = 7;
	problem->jobs[1].now[1] = problem->jobs[1].max_gpus = 1;
	problem->stop = stop_now;
	plan = searched(problem);
	assert_int_equal(4, plan->choices[0].gpus[0]);
	assert_int_equal(3, plan->choices[0].gpus[1]);
	done(problem, plan);
}

static void all_free_nodes_may_be_one_even_shape(void **state)
{
	struct plx_problem *problem = cluster(3, 4, 2);
	struct plx_plan *plan;

	(void) state;
	problem->jobs[0].weight = 1e-9;
	problem->jobs[0].min_gpus = problem->jobs[0].max_gpus = 8;
	problem->jobs[1].now[2] = problem->jobs[1].max_gpus = 1;
	problem->stop = stop_now;
	plan = searched(problem);
	assert_int_equal(4, plan->choices[0].gpus[0]);
	assert_int_equal(4, plan->choices[0].gpus[1]);
	done(problem, plan);
}

/* No other job on several nodes may come there. */
static void beside_a_job_on_both_nodes_one_node_is_free_for_another(
	void **state)
{
	struct plx_problem *problem = cluster(2, 4, 2);
	struct plx_plan *plan;

	(void) state;
	problem->jobs[0].weight = 1e-9;
	problem->jobs[0].max_gpus = 1;
	problem->jobs[1].now[0] = problem->jobs[1].now[1] = 3;
	problem->jobs[1].max_gpus = 6;
	problem->stop = stop_now;
	plan = searched(problem);
	assert_int_equal(1, plan->choices[0].shape.gpus);
	assert_int_equal(6, plan->choices[1].shape.gpus);
	done(problem, plan);
}

/* Whoever needs the first and the last of three. */
static void a_job_is_on_each_node_it_requires_or_parked(void **state)
{
	struct plx_problem *problem = cluster(3, 4, 2);
	struct plx_plan *plan;

	(void) state;
	problem->uniform = false;
	problem->interference = false;
	problem->jobs[0].min_gpus = 2;
	problem->jobs[0].max_gpus = 3;
	problem->jobs[1].max_gpus = 4;
	problem->jobs[1].now[2] = 4;
	problem->jobs[1].batch_host = 2;
	assert_int_equal(0, plx_problem_require(problem, 0, NULL));
	problem->jobs[0].required[0] = problem->jobs[0].required[2] = true;
	plan = searched(problem);
	assert_int_equal(3, plan->choices[0].shape.gpus);
	assert_true(plan->choices[0].gpus[0] > 0);
	assert_true(plan->choices[0].gpus[2] > 0);
	assert_true(plan->choices[1].gpus[2] > 0);
	check_plan(problem, plan);
	plx_plan_destroy(plan);
	problem->gpus[0] = 0;
	plan = searched(problem);
	assert_int_equal(0, plan->choices[0].shape.gpus);
	assert_int_equal(4, plan->choices[1].shape.gpus);
	done(problem, plan);
}

static void a_job_has_no_more_on_a_node_than_it_may(void **state)
{
	struct plx_problem *problem = cluster(3, 4, 1);
	struct plx_plan *plan;

	(void) state;
	problem->jobs[0].node_gpus = 2;
	problem->jobs[0].now[0] = 1;
	problem->jobs[0].batch_host = 0;
	plan = searched(problem);
	assert_choice(plan, 0, 6, "grows 1 -> 6 GPUs on 3 nodes: ");
	check_plan(problem, plan);
	plx_plan_destroy(plan);
	problem->jobs[0].max_nodes = 1;
	problem->uniform = false;
	plan = searched(problem);
	assert_choice(plan, 0, 2, "grows 1 -> 2 GPUs on 1 node: ");
	done(problem, plan);
}

/* One GPU is left on the second node; none on two of three. */
static void a_job_is_on_as_many_nodes_as_it_must_or_parked(void **state)
{
	struct plx_problem *problem = cluster(3, 4, 1);
	struct plx_plan *plan;

	(void) state;
	problem->jobs[0].min_nodes = problem->jobs[0].min_gpus = 2;
	problem->jobs[0].now[0] = problem->jobs[0].now[1] = 2;
	problem->gpus[1] = 1;
	problem->gpus[2] = 0;
	plan = searched(problem);
	assert_choice(plan, 0, 2, "shrinks 4 -> 2 GPUs: ");
	plx_plan_destroy(plan);
	problem->gpus[1] = 0;
	plan = searched(problem);
	assert_choice(plan, 0, 0, "parked: ");
	done(problem, plan);
}

static void a_newcomer_takes_its_share(void **state)
{
	struct plx_problem *problem = cluster(1, 4, 2);
	struct plx_plan *plan;

	(void) state;
	problem->jobs[0].now[0] = 4;
	plan = searched(problem);
	assert_choice(plan, 0, 2, "shrinks 4 -> 2 GPUs: room for job 2");
	assert_choice(plan, 1, 2, "gets 2 GPUs on 1 node: goodput ");
	done(problem, plan);
}

static void reserved_room_is_left(void **state)
{
	struct plx_problem *problem = cluster(2, 4, 1);
	struct plx_plan *plan;

	(void) state;
	problem->jobs[0].now[0] = 4;
	problem->jobs[0].now[1] = 4;
	problem->jobs[0].batch_host = 0;
	problem->gpus[1] = 0;
	plan = searched(problem);
	assert_choice(plan, 0, 4, "shrinks 8 -> 4 GPUs: room for waiting jobs");
	assert_int_equal(4, plan->choices[0].gpus[0]);
	done(problem, plan);
}

static void the_last_gpu_parks_whoever_may_be(void **state)
{
	struct plx_problem *problem = cluster(1, 2, 2);
	struct plx_plan *plan;

	(void) state;
	problem->jobs[0].now[0] = 1;
	problem->jobs[1].now[0] = 1;
	problem->jobs[0].may_park = false;
	problem->gpus[0] = 1;
	plan = searched(problem);
	assert_choice(plan, 0, 1, "stays: ");
	assert_choice(plan, 1, 0, "parked: room for waiting jobs");
	done(problem, plan);
}

static void a_pinned_job_is_left_alone(void **state)
{
	struct plx_problem *problem = cluster(1, 4, 2);
	struct plx_plan *plan;

	(void) state;
	problem->jobs[0].now[0] = 4;
	problem->jobs[0].fixed = true;
	plan = searched(problem);
	assert_choice(plan, 0, 4, "stays: 4 GPUs, may not change now");
	assert_choice(plan, 1, 0, "parked: no GPU left for it");
	done(problem, plan);
}

static void a_restart_dearer_than_its_gain_is_not_made(void **state)
{
	struct plx_problem *problem = cluster(1, 4, 1);
	struct plx_plan *plan;

	(void) state;
	problem->jobs[0].now[0] = 3;
	problem->jobs[0].restart_s = 150;
	plan = searched(problem);
	assert_choice(plan, 0, 3, "stays: 3 GPUs, 4 would add ");
	done(problem, plan);
}

static void assert_tells(const struct plx_plan *plan, int j, const char *part)
{
	if (!strstr(plan->choices[j].why, part))
		fail_msg("job %d: \"%s\" without \"%s\"", j,
			 plan->choices[j].why, part);
}

static void a_gain_too_small_for_a_change_is_told(void **state)
{
	struct plx_problem *problem = cluster(1, 4, 1);
	struct plx_plan *plan;

	(void) state;
	problem->hysteresis = 0.5;
	problem->jobs[0].now[0] = 3;
	problem->jobs[0].restart_s = 0;
	plan = searched(problem);
	assert_choice(plan, 0, 3, "stays: 3 GPUs, 4 would add ");
	assert_tells(plan, 0, ", worth it from 50 %");
	plx_plan_destroy(plan);
	problem->jobs[0].restart_s = 12;
	plan = searched(problem);
	assert_tells(plan, 0, ", worth it from 58 % (a restart takes 12 s)");
	done(problem, plan);
}

static void what_a_restart_costs_is_told(void **state)
{
	struct plx_problem *problem = cluster(1, 4, 1);
	struct plx_plan *plan;

	(void) state;
	problem->jobs[0].now[0] = 1;
	plan = searched(problem);
	assert_null(strstr(plan->choices[0].why, "restart"));
	plx_plan_destroy(plan);
	problem->jobs[0].restart_s = 12;
	plan = searched(problem);
	assert_choice(plan, 0, 4, "grows 1 -> 4 GPUs on 1 node: goodput ");
	assert_tells(plan, 0, " samples/s, a restart costs ");
	done(problem, plan);
}

static void a_job_gets_no_gpus_that_its_batch_cannot_use(void **state)
{
	struct plx_problem *problem = cluster(1, 4, 1);
	struct plx_limits *limits = &problem->jobs[0].goodput.limits;
	struct plx_plan *plan;

	(void) state;
	limits->max_batch = limits->base_batch;
	limits->min_per_gpu = limits->base_batch / 2;
	problem->jobs[0].now[0] = 2;
	plan = searched(problem);
	assert_choice(plan, 0, 2, "stays: 2 GPUs, more would not help");
	done(problem, plan);
}

static void a_tiny_gain_moves_nobody(void **state)
{
	struct plx_problem *problem = cluster(1, 4, 1);
	struct plx_job *job = &problem->jobs[0];
	struct plx_plan *plan;

	(void) state;
	/* Nearly all of a pass is the same for any batch. */
	job->goodput.model.alpha_c = 1;
	job->goodput.model.beta_c = 1e-4;
	job->goodput.limits.max_batch = job->goodput.limits.base_batch;
	job->restart_s = 0;
	job->now[0] = 2;
	plan = searched(problem);
	assert_choice(plan, 0, 2, "stays: 2 GPUs, 4 would add 0 %");
	done(problem, plan);
}

static void a_growing_job_keeps_its_node(void **state)
{
	struct plx_problem *problem = cluster(4, 4, 1);
	struct plx_plan *plan;

	(void) state;
	problem->jobs[0].now[2] = 1;
	problem->jobs[0].max_gpus = 4;
	plan = searched(problem);
	assert_int_equal(4, plan->choices[0].gpus[2]);
	done(problem, plan);
}

static void set_sizes(struct plx_job *job, const int *sizes, int count)
{
	job->sizes = malloc((size_t) count * sizeof(*sizes));
	assert_non_null(job->sizes);
	memcpy(job->sizes, sizes, (size_t) count * sizeof(*sizes));
	job->size_count = count;
}

static void a_job_gets_only_sizes_on_its_list(void **state)
{
	struct plx_problem *problem = cluster(2, 3, 1);
	struct plx_plan *plan;

	(void) state;
	set_sizes(&problem->jobs[0], (int[]){ 1, 2, 4, 8 }, 4);
	plan = searched(problem);
	assert_choice(plan, 0, 4, "gets 4 GPUs on 2 nodes");
	done(problem, plan);
}

static void a_gap_in_its_sizes_is_crossed(void **state)
{
	struct plx_problem *problem = cluster(1, 8, 1);
	struct plx_job *job = &problem->jobs[0];
	struct plx_plan *plan;

	(void) state;
	set_sizes(job, (int[]){ 1, 5, 8 }, 3);
	job->profiled_gpus = 1;
	job->now[0] = 1;
	plan = searched(problem);
	assert_choice(plan, 0, 5, "grows 1 -> 5 GPUs");
	plx_plan_destroy(plan);
	job->now[0] = 5;
	plan = searched(problem);
	assert_choice(plan, 0, 5,
		      "stays: at most twice the 1 GPU measured so far");
	done(problem, plan);
}

static void where_sizes_bind_the_sentence_says_so(void **state)
{
	struct plx_problem *problem = cluster(1, 8, 1);
	struct plx_job *job = &problem->jobs[0];
	struct plx_plan *plan;

	(void) state;
	set_sizes(job, (int[]){ 1, 2, 4, 8 }, 4);
	job->now[0] = 4;
	problem->gpus[0] = 7;
	plan = searched(problem);
	assert_choice(plan, 0, 4,
		      "stays: 4 GPUs, its next size is 8, and 3 "
		      "more are free");
	plx_plan_destroy(plan);
	job->max_gpus = 7;
	job->max_by = PLX_BOUND_LIMITS;
	plan = searched(problem);
	assert_choice(plan, 0, 4,
		      "stays: at its limit of 7 GPUs (set by its account, QOS "
		      "or partition), of its sizes 4 is the largest below");
	plx_plan_destroy(plan);
	job->max_gpus = 8;
	job->now[0] = 8;
	plan = searched(problem);
	assert_choice(plan, 0, 4, "shrinks 8 -> 4 GPUs: ");
	assert_non_null(strstr(plan->choices[0].why, ", its next size below"));
	done(problem, plan);
}

/* All four GPUs of each of its nodes. */
static void make_whole(struct plx_job *job)
{
	set_sizes(job, (int[]){ 4, 8, 12 }, 3);
	job->node_gpus = 4;
	job->whole = true;
	job->min_gpus = 4;
}

static void a_job_of_whole_nodes_has_whole_nodes(void **state)
{
	struct plx_problem *problem = cluster(3, 4, 2);
	struct plx_plan *plan;

	(void) state;
	make_whole(&problem->jobs[0]);
	problem->gpus[2] = 3;
	plan = searched(problem);
	assert_int_equal(0, plan->choices[0].shape.gpus % 4);
	assert_int_equal(0, plan->choices[0].gpus[2]);
	for (int n = 0; n < 2; n++)
		assert_true(plan->choices[0].gpus[n] == 0 ||
			    plan->choices[1].gpus[n] == 0);
	assert_true(plan->choices[0].shape.gpus >= 4);
	assert_true(plan->choices[1].shape.gpus >= 3);
	done(problem, plan);
}

static void for_one_gpu_a_whole_node_is_given_up(void **state)
{
	struct plx_problem *problem = cluster(3, 4, 1);
	struct plx_job *job = &problem->jobs[0];
	struct plx_plan *plan;

	(void) state;
	make_whole(job);
	for (int n = 0; n < 3; n++)
		job->now[n] = 4;
	job->batch_host = 0;
	problem->gpus[1] = 3;
	plan = searched(problem);
	assert_choice(plan, 0, 8, "shrinks 12 -> 8 GPUs: ");
	assert_int_equal(4, plan->choices[0].gpus[0]);
	assert_int_equal(0, plan->choices[0].gpus[1]);
	done(problem, plan);
}

static void a_heavier_job_gets_more(void **state)
{
	struct plx_problem *problem = cluster(1, 8, 2);
	struct plx_plan *plan;

	(void) state;
	problem->jobs[1].weight = 10;
	plan = searched(problem);
	assert_true(plan->choices[1].shape.gpus > 4);
	assert_int_equal(8, plan->choices[0].shape.gpus +
				    plan->choices[1].shape.gpus);
	done(problem, plan);
}

static void three_nodes_are_taken_when_two_are_slower(void **state)
{
	struct plx_problem *problem = cluster(3, 4, 1);
	struct plx_job *job = &problem->jobs[0];
	struct plx_plan *plan;

	(void) state;
	job->goodput.model.alpha_n = 1e-1;
	job->goodput.model.two_nodes = 5;
	job->goodput.model.alpha_r = 10;
	job->max_gpus = 6;
	plan = searched(problem);
	assert_choice(plan, 0, 6, "gets 6 GPUs on 3 nodes");
	problem->uniform = false;
	plx_plan_destroy(plan);
	plan = searched(problem);
	assert_choice(plan, 0, 6, "gets 6 GPUs on 3 nodes");
	done(problem, plan);
}

static void equal_jobs_share_equally_and_provably_well(void **state)
{
	struct plx_problem *problem = cluster(4, 4, 16);
	struct plx_plan *plan = searched(problem);

	(void) state;
	for (int j = 0; j < 16; j++)
		assert_choice(plan, j, 1, "gets 1 GPU on 1 node");
	assert_true(plan->bound <= plan->fitness * (1 + 1e-6));
	done(problem, plan);
}

static void nothing_to_do_is_a_plan(void **state)
{
	struct plx_problem *problem = plx_problem_create(0, 0, NULL);
	struct plx_plan *plan;

	(void) state;
	plan = searched(problem);
	assert_int_equal(0, plan->job_count);
	done(problem, plan);
}

/* Its script takes what the node has not, whatever its GPUs do. */
static void a_script_that_a_node_is_short_for_ends_no_search(void **state)
{
	struct plx_problem *problem = cluster(1, 4, 1);
	struct plx_plan *plan;

	(void) state;
	problem->consumable_kinds = 1;
	problem->consumables = calloc(1, sizeof(double));
	problem->jobs[0].demand = calloc(1, sizeof(double));
	problem->jobs[0].batch_host_demand = calloc(1, sizeof(double));
	assert_true(problem->consumables && problem->jobs[0].demand &&
		    problem->jobs[0].batch_host_demand);
	problem->jobs[0].batch_host_demand[0] = 1;
	problem->jobs[0].batch_host = 0;
	problem->jobs[0].now[0] = 4;
	plan = searched(problem);
	assert_choice(plan, 0, 4, "stays");
	plx_plan_destroy(plan);
	plx_problem_destroy(problem);
}

static void a_large_cluster_is_planned_in_bounded_work(void **state)
{
	const struct random_spec spec = {
		.nodes = 16, .jobs = 64, .gpus = 4, .calm = true
	};
	uint64_t seed = 11;

	(void) state;
	for (int i = 0; i < 5; i++) {
		struct plx_problem *problem = random_problem(&seed, &spec);
		struct plx_plan *plan = searched(problem);

		done(problem, plan);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_lone_job_grows_and_says_so),
		cmocka_unit_test(a_job_at_most_doubles_what_it_measured),
		cmocka_unit_test(a_job_stops_at_its_limit),
		cmocka_unit_test(a_job_keeps_to_as_many_nodes_as_it_may_have),
		cmocka_unit_test(
			a_job_is_on_as_many_nodes_as_it_must_or_parked),
		cmocka_unit_test(
			whoever_is_parked_gets_what_is_free_before_all_else),
		cmocka_unit_test(all_that_is_free_may_be_one_uneven_shape),
		cmocka_unit_test(all_free_nodes_may_be_one_even_shape),
		cmocka_unit_test(
			beside_a_job_on_both_nodes_one_node_is_free_for_another),
		cmocka_unit_test(a_job_is_on_each_node_it_requires_or_parked),
		cmocka_unit_test(a_job_has_no_more_on_a_node_than_it_may),
		cmocka_unit_test(a_newcomer_takes_its_share),
		cmocka_unit_test(reserved_room_is_left),
		cmocka_unit_test(the_last_gpu_parks_whoever_may_be),
		cmocka_unit_test(a_pinned_job_is_left_alone),
		cmocka_unit_test(a_restart_dearer_than_its_gain_is_not_made),
		cmocka_unit_test(a_gain_too_small_for_a_change_is_told),
		cmocka_unit_test(what_a_restart_costs_is_told),
		cmocka_unit_test(a_job_gets_no_gpus_that_its_batch_cannot_use),
		cmocka_unit_test(a_tiny_gain_moves_nobody),
		cmocka_unit_test(a_growing_job_keeps_its_node),
		cmocka_unit_test(a_job_gets_only_sizes_on_its_list),
		cmocka_unit_test(a_gap_in_its_sizes_is_crossed),
		cmocka_unit_test(where_sizes_bind_the_sentence_says_so),
		cmocka_unit_test(a_job_of_whole_nodes_has_whole_nodes),
		cmocka_unit_test(for_one_gpu_a_whole_node_is_given_up),
		cmocka_unit_test(a_heavier_job_gets_more),
		cmocka_unit_test(three_nodes_are_taken_when_two_are_slower),
		cmocka_unit_test(equal_jobs_share_equally_and_provably_well),
		cmocka_unit_test(nothing_to_do_is_a_plan),
		cmocka_unit_test(
			a_script_that_a_node_is_short_for_ends_no_search),
		cmocka_unit_test(a_large_cluster_is_planned_in_bounded_work),
	};

	return cmocka_run_group_tests_name("plan cases", tests, NULL, NULL);
}
