/* SPDX-License-Identifier: MIT */
/* test_prepare.c - from filled jobs to a problem that is posed */

#include "core/jobs/prepare.h"
#include "unit.h"

enum { TEACHER, PUPIL, JOBS };

/* One job that has measured 8 GPUs, behind one of its kind that has not. */
static struct plx_problem *make(void)
{
	struct plx_error err;
	struct plx_problem *problem = plx_problem_create(2, JOBS, &err);

	assert_non_null(problem);
	plx_prepare_defaults(problem);
	for (int n = 0; n < 2; n++)
		problem->gpus[n] = problem->gpus_total[n] = 8;
	for (int j = 0; j < JOBS; j++) {
		struct plx_job *job = &problem->jobs[j];

		job->id = (uint32_t) (j + 1);
		job->min_gpus = 1;
		job->max_gpus = 2;
		job->weight = 1;
		job->batch_host = -1;
		job->profiled = j == TEACHER;
		job->profiled_gpus = j == TEACHER ? 8 : 1;
		job->goodput.limits =
			(struct plx_limits){ 128, 4096, 8, 256, true };
	}
	problem->jobs[TEACHER].goodput = (struct plx_goodput){
		.model = { 0.05, 0.002, 0.1, 0.01, 0.02, 0.001, 1.5 },
		.noise = { 1, 20 },
		.limits = { 128, 4096, 8, 256, true },
	};
	return problem;
}

static void prepare(struct plx_problem *problem,
		    const struct plx_prepare_job *jobs,
		    enum plx_weights weights)
{
	struct plx_app_profiles profiles = { 0 };
	const struct plx_prepare how = { &profiles, jobs, weights };
	struct plx_error err;

	assert_int_equal(0, plx_prepare(problem, &how, &err));
}

/* The pupil comes first, and is lent what the job behind it teaches. */
static void all_teach_before_any_learns(void **state)
{
	const struct plx_prepare_job jobs[JOBS] = {
		{ .learns = true, .most_gpus = 8 },
		{ .teaches = true },
	};
	struct plx_problem *problem = make();
	struct plx_job first = problem->jobs[PUPIL];

	(void) state;
	problem->jobs[PUPIL] = problem->jobs[TEACHER];
	problem->jobs[TEACHER] = first;
	prepare(problem, jobs, PLX_WEIGHTS_ALIKE);
	assert_true(problem->jobs[0].profiled);
	assert_int_equal(8, problem->jobs[0].max_gpus);
	assert_int_equal(2, problem->jobs[1].max_gpus);
	plx_problem_destroy(problem);
}

static void who_may_not_teach_or_learn_does_not(void **state)
{
	const struct plx_prepare_job silent[JOBS] = {
		[PUPIL] = { .learns = true, .most_gpus = 8 },
	};
	const struct plx_prepare_job deaf[JOBS] = {
		[TEACHER] = { .teaches = true },
		[PUPIL] = { .most_gpus = 8 },
	};
	const struct plx_prepare_job *ways[] = { silent, deaf };

	(void) state;
	for (int i = 0; i < 2; i++) {
		struct plx_problem *problem = make();

		prepare(problem, ways[i], PLX_WEIGHTS_ALIKE);
		assert_false(problem->jobs[PUPIL].profiled);
		assert_int_equal(2, problem->jobs[PUPIL].max_gpus);
		plx_problem_destroy(problem);
	}
}

/* What was measured by others goes before what is assumed. */
static void only_the_unmeasured_is_assumed_to_scale(void **state)
{
	const struct plx_prepare_job lent[JOBS] = {
		[TEACHER] = { .teaches = true, .assumes = true },
		[PUPIL] = { .learns = true, .assumes = true },
	};
	const struct plx_prepare_job alone[JOBS] = {
		[PUPIL] = { .assumes = true },
	};
	struct plx_problem *problem = make();
	struct plx_goodput measured = problem->jobs[TEACHER].goodput;

	(void) state;
	prepare(problem, lent, PLX_WEIGHTS_ALIKE);
	for (int j = 0; j < JOBS; j++)
		assert_memory_equal(&measured.model,
				    &problem->jobs[j].goodput.model,
				    sizeof(measured.model));
	assert_int_equal(2, problem->jobs[PUPIL].max_gpus);
	plx_problem_destroy(problem);
	problem = make();
	prepare(problem, alone, PLX_WEIGHTS_ALIKE);
	assert_true(problem->jobs[PUPIL].profiled);
	plx_problem_destroy(problem);
}

static double seconds(const struct plx_job *job, long further)
{
	const struct plx_shape shape = { 2, 8, further };

	return plx_iter_seconds(&job->goodput.model, shape, 32);
}

/* It must not pay for the second one in its model and by the price. */
static void a_job_measured_on_two_switches_pays_for_the_second_once(
	void **state)
{
	const struct plx_prepare_job lent[JOBS] = {
		[TEACHER] = { .teaches = true },
		[PUPIL] = { .learns = true },
	};
	struct plx_problem *problem = make();
	struct plx_job *teacher = &problem->jobs[TEACHER];
	double measured = seconds(teacher, 1);

	(void) state;
	teacher->goodput.model.further = 1;
	problem->switch_cost = 0.5;
	prepare(problem, lent, PLX_WEIGHTS_ALIKE);
	/* Nothing is known of switches. */
	assert_true(seconds(teacher, 0) == measured);
	assert_true(seconds(teacher, 1) == measured);
	assert_int_equal(0, plx_problem_add_switches(problem, NULL));
	prepare(problem, lent, PLX_WEIGHTS_ALIKE);
	for (int j = 0; j < JOBS; j++) {
		const struct plx_job *job = &problem->jobs[j];

		assert_float_equal(measured, seconds(job, 1), 1e-9);
		assert_true(seconds(job, 0) < 0.95 * measured);
		assert_true(seconds(job, 2) > 1.05 * measured);
	}
	plx_problem_destroy(problem);
}

static void what_a_job_measured_goes_before_the_guess(void **state)
{
	const struct plx_prepare_job jobs[JOBS] = { 0 };
	struct plx_problem *problem = make();
	const struct plx_model *model = &problem->jobs[TEACHER].goodput.model;

	(void) state;
	assert_int_equal(0, plx_problem_add_switches(problem, NULL));
	problem->jobs[TEACHER].goodput.model.per_switch = 3;
	prepare(problem, jobs, PLX_WEIGHTS_ALIKE);
	assert_true(model->per_switch == 3 && model->alpha_n == 0.1);
	problem->jobs[TEACHER].goodput.model.per_switch = 0;
	prepare(problem, jobs, PLX_WEIGHTS_ALIKE);
	assert_true(model->per_switch == PLX_SWITCH_COST);
	plx_problem_destroy(problem);
}

static void service_does_not_ask_what_is_left(void **state)
{
	const struct plx_prepare_job jobs[JOBS] = { 0 };

	(void) state;
	for (int weights = PLX_WEIGHTS_ALIKE; weights <= PLX_WEIGHTS_LEFT;
	     weights++) {
		struct plx_problem *problem = make();

		problem->jobs[TEACHER].samples_left = 1e6;
		problem->jobs[TEACHER].weight = 5;
		prepare(problem, jobs, (enum plx_weights) weights);
		assert_int_equal(weights == PLX_WEIGHTS_SERVICE,
				 problem->jobs[TEACHER].samples_left == 0);
		assert_int_equal(weights == PLX_WEIGHTS_ALIKE,
				 problem->jobs[TEACHER].weight == 5);
		plx_problem_destroy(problem);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(all_teach_before_any_learns),
		cmocka_unit_test(who_may_not_teach_or_learn_does_not),
		cmocka_unit_test(only_the_unmeasured_is_assumed_to_scale),
		cmocka_unit_test(
			a_job_measured_on_two_switches_pays_for_the_second_once),
		cmocka_unit_test(what_a_job_measured_goes_before_the_guess),
		cmocka_unit_test(service_does_not_ask_what_is_left),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
