/* SPDX-License-Identifier: MIT */
/* test_plan_spare.c - GPUs that even shapes leave over */

#include "core/search/plan.h"
#include "core/problem/objective.h"
#include "plan_world.h"
#include "random_problem.h"

/* Each job has a GPU on its batch host, the node of its number. */
static struct plx_problem *one_each(const int *gpus, int nodes, int jobs)
{
	struct plx_problem *problem = plx_problem_create(nodes, jobs, NULL);

	assert_non_null(problem);
	problem->fairness = 0;
	problem->hysteresis = 0.08;
	problem->uniform = problem->idle = problem->interference = true;
	for (int n = 0; n < nodes; n++) {
		problem->gpus[n] = gpus[n];
		problem->gpus_total[n] = 4;
	}
	for (int j = 0; j < jobs; j++) {
		problem->jobs[j] = (struct plx_job){
			.id = (uint32_t) (j + 1),
			.min_gpus = 1,
			.max_gpus = 4 * nodes,
			.profiled = true,
			.goodput = noisy,
			.profiled_gpus = 4 * nodes,
			.may_park = true,
			.batch_host = j,
			.restart_s = 1,
			.now = problem->jobs[j].now,
		};
		problem->jobs[j].now[j] = 1;
	}
	return problem;
}

/* The jobs have what was decided. */
static void adopt(struct plx_problem *problem, const struct plx_plan *plan)
{
	for (int j = 0; j < problem->job_count; j++) {
		for (int n = 0; n < problem->node_count; n++)
			problem->jobs[j].now[n] = plan->choices[j].gpus[n];
	}
}

static int left_over(const struct plx_problem *problem,
		     const struct plx_plan *plan)
{
	int idle = 0;

	for (int n = 0; n < problem->node_count; n++)
		idle += problem->gpus[n];
	for (int j = 0; j < problem->job_count; j++)
		idle -= plan->choices[j].shape.gpus;
	return idle;
}

static void assert_row(const struct plx_plan *plan, int j, const int *want)
{
	for (int n = 0; n < plan->node_count; n++)
		assert_int_equal(want[n], plan->choices[j].gpus[n]);
}

static void what_fits_no_even_shape_goes_to_one_who_gains(void **state)
{
	static const int gpus[] = { 1, 4 };
	static const int all[] = { 1, 4 };
	struct plx_problem *problem = one_each(gpus, 2, 1);
	struct plx_plan *plan = NULL;

	(void) state;
	problem->idle = false;
	plan = searched(problem);
	assert_int_equal(2, plan->choices[0].shape.gpus);
	assert_int_equal(3, left_over(problem, plan));
	plx_plan_destroy(plan);
	problem->idle = true;
	plan = searched(problem);
	assert_row(plan, 0, all);
	assert_non_null(strstr(plan->choices[0].why, "grows 1 -> 5 GPUs"));
	plx_plan_destroy(plan);
	plx_problem_destroy(problem);
}

/* As recorded beside rigid jobs: two GPUs of the last node were left over. */
static void a_job_keeps_what_it_took(void **state)
{
	static const int gpus[] = { 1, 2, 2, 4 };
	struct plx_problem *problem = one_each(gpus, 4, 3);
	struct plx_plan *plan = searched(problem);

	(void) state;
	assert_int_equal(0, left_over(problem, plan));
	for (int i = 0; i < 3; i++) {
		adopt(problem, plan);
		plx_plan_destroy(plan);
		plan = searched(problem);
		for (int j = 0; j < 3; j++)
			assert_false(plan->choices[j].changed);
	}
	plx_plan_destroy(plan);
	plx_problem_destroy(problem);
}

/* Two GPUs of its second node go to another, the batch host is as it was. */
static void it_gives_back_no_more_than_is_wanted(void **state)
{
	static const int gpus[] = { 1, 4 };
	static const int left[] = { 1, 2 };
	struct plx_problem *problem = one_each(gpus, 2, 1);
	struct plx_plan *plan = searched(problem);

	(void) state;
	adopt(problem, plan);
	plx_plan_destroy(plan);
	problem->gpus[1] = 2;
	plan = searched(problem);
	assert_row(plan, 0, left);
	plx_plan_destroy(plan);
	plx_problem_destroy(problem);
}

static void another_job_gets_its_own_back(void **state)
{
	static const int gpus[] = { 1, 4 };
	struct plx_problem *problem = one_each(gpus, 2, 2);
	struct plx_plan *plan = NULL;

	(void) state;
	problem->jobs[0].now[1] = 4;
	problem->jobs[1].now[1] = 0;
	plan = searched(problem);
	assert_true(plan->choices[1].shape.gpus >= 2);
	assert_int_equal(0, left_over(problem, plan));
	plx_plan_destroy(plan);
	plx_problem_destroy(problem);
}

/* It has two GPUs of the first node; one of the second would make it three. */
static int with_three_worth(double speedup, double kept)
{
	static const int gpus[] = { 2, 1 };
	const double speedups[] = { 1, 2, 2.9, 0, 2, speedup };
	struct plx_problem *problem = one_each(gpus, 2, 1);
	struct plx_table *table = calloc(1, sizeof(*table));
	struct plx_plan *plan = NULL;
	int has;

	assert_non_null(table);
	*table = (struct plx_table){ .nodes = 2, .gpus = 3, .kept = kept };
	table->speedup = malloc(sizeof(speedups));
	assert_non_null(table->speedup);
	memcpy(table->speedup, speedups, sizeof(speedups));
	problem->jobs[0].table = table;
	problem->jobs[0].now[0] = 2;
	plan = searched(problem);
	has = plan->choices[0].shape.gpus;
	plx_plan_destroy(plan);
	plx_problem_destroy(problem);
	return has;
}

static void a_gpu_that_brings_half_of_one_is_taken(void **state)
{
	(void) state;
	assert_int_equal(3, with_three_worth(2.51, 1));
	assert_int_equal(2, with_three_worth(2.49, 1));
}

static void but_not_if_the_change_costs_more(void **state)
{
	(void) state;
	assert_int_equal(3, with_three_worth(2.7, 0.81));
	assert_int_equal(2, with_three_worth(2.7, 0.79));
}

/* It is started again for its new shape, and starts are even. */
static void a_job_without_a_home_stays_even(void **state)
{
	static const int gpus[] = { 1, 4 };
	struct plx_problem *problem = one_each(gpus, 2, 1);
	struct plx_plan *plan = NULL;

	(void) state;
	problem->jobs[0].batch_host = -1;
	plan = searched(problem);
	assert_int_equal(1, plan->choices[0].shape.nodes);
	assert_int_equal(4, plan->choices[0].shape.gpus);
	plx_plan_destroy(plan);
	plx_problem_destroy(problem);
}

/* It may have 1 or 6 GPUs, and has one. */
static struct plx_problem *one_or_six(const int *gpus, int nodes)
{
	static const int sizes[] = { 1, 6 };
	struct plx_problem *problem = one_each(gpus, nodes, 1);
	struct plx_job *job = &problem->jobs[0];

	job->sizes = malloc(sizeof(sizes));
	assert_non_null(job->sizes);
	memcpy(job->sizes, sizes, sizeof(sizes));
	job->size_count = 2;
	job->max_gpus = 6;
	return problem;
}

static void assert_gets(struct plx_problem *problem, const int *want)
{
	struct plx_plan *plan = searched(problem);

	check_plan(problem, plan);
	assert_row(plan, 0, want);
	plx_plan_destroy(plan);
	plx_problem_destroy(problem);
}

static void a_next_size_is_had_over_several_nodes(void **state)
{
	(void) state;
	assert_gets(one_or_six((int[]){ 4, 2 }, 2), (int[]){ 4, 2 });
	/* What suffices is taken before what is larger. */
	assert_gets(one_or_six((int[]){ 3, 3, 4, 1 }, 4),
		    (int[]){ 3, 3, 0, 0 });
	assert_gets(one_or_six((int[]){ 1, 1, 1, 4 }, 4),
		    (int[]){ 1, 1, 0, 4 });
	assert_gets(one_or_six((int[]){ 1, 1, 1, 2 }, 4),
		    (int[]){ 1, 0, 0, 0 });
}

static void but_on_no_more_nodes_than_it_may(void **state)
{
	struct plx_problem *problem = one_or_six((int[]){ 2, 3, 1 }, 3);

	(void) state;
	problem->jobs[0].max_nodes = 2;
	assert_gets(problem, (int[]){ 1, 0, 0 });
	assert_gets(one_or_six((int[]){ 2, 3, 1 }, 3), (int[]){ 2, 3, 1 });
}

/* Some GPU that a job could use half as well as its others? */
static bool wasted(const struct plx_problem *problem,
		   const struct plx_plan *plan, int j, int n)
{
	const struct plx_job *job = &problem->jobs[j];
	const struct plx_choice *choice = &plan->choices[j];
	struct plx_yardstick fair = plx_fair_share(problem, job);
	struct plx_shape more = choice->shape;
	int free = problem->gpus[n];

	for (int k = 0; k < problem->job_count; k++)
		free -= plan->choices[k].gpus[n];
	if (job->fixed || choice->shape.gpus == 0 || !choice->gpus[n] ||
	    !row_allowed(problem, job, choice->gpus) || free < 1 ||
	    choice->shape.gpus >= at_most(job, 0) ||
	    (job->allowed && !job->allowed[n]))
		return false;
	more.gpus++;
	return plx_job_value(job, &fair, more, true) >
		       (1 + problem->hysteresis) * plx_job_value(job, &fair,
								 choice->shape,
								 false) &&
	       plx_speedup(job, &fair, more) >=
		       choice->speedup * (1 + 0.5 / choice->shape.gpus);
}

static void nobody_loses_by_it_and_little_is_wasted(void **state)
{
	static const struct random_spec spec = { .nodes = 6,
						 .jobs = 6,
						 .gpus = 8,
						 .stocked = true,
						 .bounded = true };
	uint64_t seed = 5;
	int filled = 0;

	(void) state;
	for (int i = 0; i < UNIT_CASES(1000); i++) {
		struct plx_problem *problem = random_problem(&seed, &spec);
		struct plx_plan *even = NULL;
		struct plx_plan *plan = NULL;

		problem->uniform = true;
		problem->fairness = 0;
		even = searched(problem);
		adopt(problem, even);
		plx_plan_destroy(even);
		even = searched(problem);
		problem->idle = true;
		plan = searched(problem);
		check_plan(problem, plan);
		filled += left_over(problem, even) - left_over(problem, plan);
		for (int j = 0; j < problem->job_count; j++) {
			const struct plx_job *job = &problem->jobs[j];

			assert_true(plan->choices[j].speedup >=
				    even->choices[j].speedup * (1 - 1e-9));
			for (int n = 0; n < problem->node_count; n++)
				assert_false(job->batch_host >= 0 &&
					     !job->table && !job->size_count &&
					     !job->node_gpus && !job->demand &&
					     wasted(problem, plan, j, n));
		}
		plx_plan_destroy(even);
		plx_plan_destroy(plan);
		plx_problem_destroy(problem);
	}
	assert_true(filled > UNIT_CASES(100));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_fits_no_even_shape_goes_to_one_who_gains),
		cmocka_unit_test(a_job_keeps_what_it_took),
		cmocka_unit_test(it_gives_back_no_more_than_is_wanted),
		cmocka_unit_test(another_job_gets_its_own_back),
		cmocka_unit_test(a_gpu_that_brings_half_of_one_is_taken),
		cmocka_unit_test(but_not_if_the_change_costs_more),
		cmocka_unit_test(a_job_without_a_home_stays_even),
		cmocka_unit_test(a_next_size_is_had_over_several_nodes),
		cmocka_unit_test(but_on_no_more_nodes_than_it_may),
		cmocka_unit_test(nobody_loses_by_it_and_little_is_wasted),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
