/* SPDX-License-Identifier: MIT */
/* test_finish_time.c - one finish-time fairness for all who tell it */

#include <math.h>

#include "core/model/finish_time.h"
#include "unit.h"

#define assert_near(want, got) assert_true(fabs((want) - (got)) < 1e-9)

/* No batch fits on more than three GPUs. */
static const struct plx_limits three = {
	.base_batch = 64, .max_batch = 200, .min_per_gpu = 64, .max_per_gpu = 64
};

static void assert_due(int gpus, double part, struct plx_due due)
{
	assert_int_equal(gpus, due.gpus);
	assert_near(part, due.part);
}

static void a_share_is_whole_gpus_that_the_job_can_use(void **state)
{
	(void) state;
	assert_due(2, 1, plx_due_of(8, 3, NULL));
	assert_due(8, 1, plx_due_of(8, 1, NULL));
	assert_due(3, 1, plx_due_of(8, 1, &three));
	assert_due(2, 1, plx_due_of(8, 4, &three));
}

static void less_than_a_gpu_is_one_for_part_of_the_time(void **state)
{
	(void) state;
	assert_due(1, 0.25, plx_due_of(1, 4, NULL));
	assert_due(1, 0.5, plx_due_of(2, 4, &three));
	assert_due(1, 0, plx_due_of(0, 4, NULL));
}

static void it_is_time_shared_over_time_alone_on_that_share(void **state)
{
	struct plx_due half = plx_due_of(1, 2, NULL);
	struct plx_due whole = plx_due_of(4, 2, NULL);

	(void) state;
	assert_near(2, plx_finish_fairness(200, 100, &whole));
	/* Alone it would have the GPU every second hour: 200 s. */
	assert_near(1, plx_finish_fairness(200, 100, &half));
}

/* Half done after 100 s; 1000 samples are left. */
static double halfway(double goodput, double goodput_due, double part)
{
	const struct plx_due due = { .gpus = 1, .part = part };
	const struct plx_halfway job = {
		.since_s = 100,
		.progress = 0.5,
		.samples_left = 1000,
		.goodput = goodput,
		.goodput_due = goodput_due,
	};

	return plx_finish_expected(&job, &due);
}

static void what_runs_is_expected_to_go_on_as_now(void **state)
{
	(void) state;
	assert_near(1, halfway(10, 10, 1));
	assert_near(1.5, halfway(5, 10, 1));
	assert_near(0.75, halfway(5, 10, 0.5));
}

static void what_cannot_be_told_is_nothing(void **state)
{
	const struct plx_due due = { .gpus = 1, .part = 1 };
	const struct plx_halfway begun = { .since_s = 100,
					   .samples_left = 1000,
					   .goodput = 10,
					   .goodput_due = 10 };

	(void) state;
	assert_true(plx_finish_expected(&begun, &due) == 0);
	assert_true(halfway(0, 10, 1) == 0);
	assert_true(halfway(10, 0, 1) == 0);
	assert_true(halfway(10, 10, 0) == 0);
	assert_true(halfway((double) NAN, 10, 1) == 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_share_is_whole_gpus_that_the_job_can_use),
		cmocka_unit_test(less_than_a_gpu_is_one_for_part_of_the_time),
		cmocka_unit_test(
			it_is_time_shared_over_time_alone_on_that_share),
		cmocka_unit_test(what_runs_is_expected_to_go_on_as_now),
		cmocka_unit_test(what_cannot_be_told_is_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
