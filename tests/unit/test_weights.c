/* SPDX-License-Identifier: MIT */
/* test_weights.c - who goes first, when the mean of all times is to be short */

#include <math.h>

#include "core/problem/objective.h"
#include "reached.h"
#include "unit.h"

enum { NODES = 4, NODE_GPUS = 4 };

/* A cluster with jobs that scale well, none of which was served yet. */
static struct plx_problem *make(int jobs)
{
	struct plx_error err;
	struct plx_problem *problem = plx_problem_create(NODES, jobs, &err);

	assert_non_null(problem);
	for (int n = 0; n < NODES; n++) {
		problem->gpus[n] = NODE_GPUS;
		problem->gpus_total[n] = NODE_GPUS;
	}
	for (int j = 0; j < jobs; j++) {
		struct plx_job *job = &problem->jobs[j];

		job->id = (uint32_t) (j + 1);
		job->min_gpus = 1;
		job->max_gpus = NODES * NODE_GPUS;
		job->profiled = true;
		job->profiled_gpus = 1;
		job->batch_host = -1;
		job->goodput = (struct plx_goodput){
			.model = { 0.05, 0.002, 0.1, 0.01, 0.02, 0.001, 1.5 },
			.noise = { 1, 20 },
			.limits = { 128, 4096, 8, 256, true },
		};
	}
	return problem;
}

static void set_weights(struct plx_problem *problem)
{
	struct plx_error err;

	assert_int_equal(0, plx_problem_set_weights(problem, &err));
	for (int j = 0; j < problem->job_count; j++) {
		double weight = problem->jobs[j].weight;

		assert_true(isfinite(weight) && weight > 0);
	}
}

static double weight_of(const struct plx_problem *problem, int j)
{
	return problem->jobs[j].weight;
}

static void who_has_had_little_goes_first(void **state)
{
	struct plx_problem *problem = make(3);

	(void) state;
	problem->jobs[0].service_s = 1e6;
	problem->jobs[2].service_s = 7200;
	set_weights(problem);
	assert_true(weight_of(problem, 1) == 1);
	assert_true(weight_of(problem, 1) > weight_of(problem, 2));
	assert_true(weight_of(problem, 2) > weight_of(problem, 0));
	plx_problem_destroy(problem);
}

static void equal_service_weighs_the_same(void **state)
{
	struct plx_problem *problem = make(2);

	(void) state;
	problem->jobs[0].service_s = 5000;
	problem->jobs[1].service_s = 5000;
	set_weights(problem);
	assert_true(weight_of(problem, 0) == weight_of(problem, 1));
	plx_problem_destroy(problem);
}

static void the_less_is_left_the_more_a_job_weighs(void **state)
{
	static const double left[] = { 4e6, 1e3, 2e5, 3e4 };
	struct plx_problem *problem = make(4);

	(void) state;
	for (int j = 0; j < 4; j++)
		problem->jobs[j].samples_left = left[j];
	set_weights(problem);
	assert_true(weight_of(problem, 1) > weight_of(problem, 3));
	assert_true(weight_of(problem, 3) > weight_of(problem, 2));
	assert_true(weight_of(problem, 2) > weight_of(problem, 0));
	plx_problem_destroy(problem);
}

/* Ranks alone count, as in heSRPT, not how much less is left. */
static void only_ranks_count(void **state)
{
	struct plx_problem *near = make(3);
	struct plx_problem *far = make(3);

	(void) state;
	for (int j = 0; j < 3; j++) {
		near->jobs[j].samples_left = 1e5 + j;
		far->jobs[j].samples_left = pow(1e3, j + 1);
	}
	set_weights(near);
	set_weights(far);
	for (int j = 0; j < 3; j++)
		assert_true(weight_of(near, j) == weight_of(far, j));
	plx_problem_destroy(near);
	plx_problem_destroy(far);
}

/* Wherever it stands in the problem. */
static void of_equals_the_older_goes_first(void **state)
{
	struct plx_problem *problem = make(3);

	(void) state;
	problem->jobs[0].id = 9;
	problem->jobs[1].id = 4;
	problem->jobs[2].id = 7;
	for (int j = 0; j < 3; j++)
		problem->jobs[j].samples_left = 1e5;
	set_weights(problem);
	assert_true(weight_of(problem, 1) > weight_of(problem, 2));
	assert_true(weight_of(problem, 2) > weight_of(problem, 0));
	plx_problem_destroy(problem);
}

/* A job that does not tell will go on for as long as it has gone on. */
static void the_silent_are_taken_to_have_as_much_left(void **state)
{
	struct plx_problem *problem = make(3);
	struct plx_yardstick fair = plx_fair_share(problem, &problem->jobs[0]);

	(void) state;
	/* An hour, on a fair share. */
	problem->jobs[0].samples_left = 3600 * fair.goodput;
	problem->jobs[1].service_s = 1800.0 * fair.gpus;
	problem->jobs[2].service_s = 7200.0 * fair.gpus;
	set_weights(problem);
	assert_true(weight_of(problem, 1) > weight_of(problem, 0));
	assert_true(weight_of(problem, 0) > weight_of(problem, 2));
	plx_problem_destroy(problem);
}

/* Its end is near, as far as anybody can tell. */
static void one_that_tells_but_was_never_measured_goes_first(void **state)
{
	struct plx_problem *problem = make(2);

	(void) state;
	problem->jobs[0].samples_left = 1e3;
	problem->jobs[1].samples_left = 1e12;
	problem->jobs[1].profiled = false;
	set_weights(problem);
	assert_true(weight_of(problem, 1) > weight_of(problem, 0));
	plx_problem_destroy(problem);
}

static void absurd_numbers_still_make_weights(void **state)
{
	static const double numbers[] = { 0,	 1e-300, 1, 1e15,
					  1e300, 1e-30,	 5, 1e30 };
	struct reached reached[] = { { "a job weighs less than one", 0 },
				     { "a job weighs one", 0 },
				     { "a job weighs more than one", 0 } };
	uint64_t seed = 11;

	(void) state;
	for (int round = 0; round < 2000; round++) {
		struct plx_problem *problem =
			make(1 + (int) (unit_random(&seed) % 40));

		for (int j = 0; j < problem->job_count; j++) {
			struct plx_job *job = &problem->jobs[j];
			size_t s = unit_random(&seed) % ARRAY_SIZE(numbers);
			size_t l = unit_random(&seed) % ARRAY_SIZE(numbers);

			job->service_s = numbers[s];
			job->samples_left = round % 2 ? numbers[l] : 0;
			job->profiled = unit_random(&seed) % 4;
			job->goodput.model.alpha_c =
				unit_uniform(&seed, 0, 1e6);
			job->goodput.noise.var = unit_uniform(&seed, 0, 1e30);
		}
		set_weights(problem);
		for (int j = 0; j < problem->job_count; j++) {
			double weight = weight_of(problem, j);

			reached[(weight >= 1) + (weight > 1)].times++;
		}
		plx_problem_destroy(problem);
	}
	assert_all_reached(reached, ARRAY_SIZE(reached), 100);
}

/* What a program claims, or a file says, is never worth a refusal. */
static void nonsense_counts_as_nothing(void **state)
{
	static const double nonsense[] = { NAN, INFINITY, -INFINITY, -1,
					   -1e300 };

	(void) state;
	for (size_t i = 0; i < ARRAY_SIZE(nonsense); i++) {
		for (int tells = 0; tells < 2; tells++) {
			struct plx_problem *problem = make(3);
			struct plx_error err;

			problem->jobs[0].service_s = nonsense[i];
			problem->jobs[1].samples_left = nonsense[i];
			problem->jobs[2].samples_left = tells ? 1e5 : 0;
			set_weights(problem);
			assert_true(problem->jobs[0].service_s == 0);
			assert_true(problem->jobs[1].samples_left == 0);
			assert_int_equal(0, plx_problem_check(problem, &err));
			/* Neither has had anything, as far as is known. */
			assert_true(tells || weight_of(problem, 0) ==
						     weight_of(problem, 1));
			plx_problem_destroy(problem);
		}
	}
}

static void without_jobs_there_is_nothing_to_weigh(void **state)
{
	struct plx_problem *problem = make(0);

	(void) state;
	set_weights(problem);
	plx_problem_destroy(problem);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(who_has_had_little_goes_first),
		cmocka_unit_test(equal_service_weighs_the_same),
		cmocka_unit_test(the_less_is_left_the_more_a_job_weighs),
		cmocka_unit_test(only_ranks_count),
		cmocka_unit_test(of_equals_the_older_goes_first),
		cmocka_unit_test(the_silent_are_taken_to_have_as_much_left),
		cmocka_unit_test(
			one_that_tells_but_was_never_measured_goes_first),
		cmocka_unit_test(absurd_numbers_still_make_weights),
		cmocka_unit_test(nonsense_counts_as_nothing),
		cmocka_unit_test(without_jobs_there_is_nothing_to_weigh),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
