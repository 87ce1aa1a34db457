/* SPDX-License-Identifier: MIT */
/* test_plan_limit.c - plans, where jobs have a time limit to keep */

#include "core/search/plan.h"
#include "core/problem/objective.h"
#include "plan_world.h"
#include "random_problem.h"
#include "reached.h"

/* Useful samples a second of such a job on so many GPUs of a node. */
static double goodput_on(int gpus)
{
	struct plx_shape shape = { .nodes = 1, .gpus = gpus };
	double goodput = 0;

	assert_true(plx_batch_best(&noisy, shape, NULL, &goodput));
	return goodput;
}

/* Two jobs on four GPUs, of which the second counts for more. */
static struct plx_problem *one_is_pressed(void)
{
	struct plx_problem *problem = cluster(1, 4, 2);

	problem->jobs[0].now[0] = 2;
	problem->jobs[1].now[0] = 2;
	problem->jobs[1].weight = 2.5;
	problem->fairness = 0;
	return problem;
}

static void a_job_of_less_weight_shrinks(void **state)
{
	struct plx_problem *problem = one_is_pressed();
	struct plx_plan *plan;

	(void) state;
	plan = searched(problem);
	assert_choice(plan, 0, 1, "shrinks 2 -> 1 GPUs");
	done(problem, plan);
}

static void but_not_if_it_missed_its_time_limit_then(void **state)
{
	struct plx_problem *problem = one_is_pressed();
	struct plx_plan *plan;

	(void) state;
	problem->jobs[0].least_goodput = 0.9 * goodput_on(2);
	plan = searched(problem);
	assert_choice(plan, 0, 2, "stays: 2 GPUs");
	done(problem, plan);
}

static void unless_it_wants_more_than_its_share_for_it(void **state)
{
	struct plx_problem *problem = cluster(1, 4, 2);
	struct plx_plan *plan;

	(void) state;
	problem->jobs[0].now[0] = 3;
	problem->jobs[1].now[0] = 1;
	problem->jobs[0].least_goodput = 0.95 * goodput_on(3);
	plan = searched(problem);
	assert_choice(plan, 0, 2, "shrinks 3 -> 2 GPUs");
	done(problem, plan);
}

/* All rules of plans hold with limits, too: check_plan() in done(). */
/* Is the plan another where no job has a limit? */
static bool differs_without(struct plx_problem *problem)
{
	struct plx_plan *plan = searched(problem);
	double least[6] = { 0 };
	struct plx_plan *other;
	bool differs = false;

	for (int j = 0; j < problem->job_count; j++) {
		least[j] = problem->jobs[j].least_goodput;
		problem->jobs[j].least_goodput = 0;
	}
	other = searched(problem);
	for (int j = 0; j < problem->job_count; j++) {
		problem->jobs[j].least_goodput = least[j];
		differs = differs || !same_row(problem, plan->choices[j].gpus,
					       other->choices[j].gpus);
	}
	plx_plan_destroy(other);
	plx_plan_destroy(plan);
	return differs;
}

static void with_limits_plans_are_as_good_as_any(void **state)
{
	const struct random_spec spec = { .nodes = 4, .gpus = 4, .jobs = 6 };
	struct reached reached[] = { { "a job is pressed by a limit", 0 },
				     { "a limit changes the plan", 0 } };

	(void) state;
	for (uint64_t seed = 1; seed <= 1000; seed++) {
		uint64_t at = seed;
		struct plx_problem *problem = random_problem(&at, &spec);

		for (int j = 0; j < problem->job_count; j++) {
			struct plx_job *job = &problem->jobs[j];
			struct plx_yardstick fair =
				plx_fair_share(problem, job);

			if (!job->profiled || !chance(&at, 60))
				continue;
			job->least_goodput =
				spread(&at, 0.1, 1.2) * fair.goodput;
			reached[0].times++;
		}
		reached[1].times += differs_without(problem);
		done(problem, searched(problem));
	}
	assert_all_reached(reached, ARRAY_SIZE(reached), 20);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_job_of_less_weight_shrinks),
		cmocka_unit_test(but_not_if_it_missed_its_time_limit_then),
		cmocka_unit_test(unless_it_wants_more_than_its_share_for_it),
		cmocka_unit_test(with_limits_plans_are_as_good_as_any),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
