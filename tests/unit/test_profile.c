/* SPDX-License-Identifier: MIT */
/* test_profile.c - what was measured, and the batch it advises */

#include <string.h>

#include "agent/profile.h"
#include "unit.h"

static const struct plx_limits limits = {
	.base_batch = 128,
	.max_batch = 4096,
	.min_per_gpu = 8,
	.max_per_gpu = 256,
	.accumulate = true,
};

static const struct plx_shape one = { .nodes = 1, .gpus = 1 };
static const struct plx_shape four = { .nodes = 2, .gpus = 4 };

/* Steps on a shape, at a pass time that grows with m. */
static void measure(struct plx_profile *profile, struct plx_shape shape, int m,
		    int steps)
{
	struct plx_row *row = plx_profile_row(profile, shape, m, 1);

	for (int i = 0; i < steps; i++) {
		plx_row_add_pass(row, 0.010 + 0.0001 * m);
		plx_row_add_step(row, 0.010 + 0.0001 * m +
					      (shape.gpus > 1 ? 0.005 : 0));
	}
}

static void see_noise(struct plx_profile *profile)
{
	const struct plx_noise_step step = {
		.parts = 4,
		.mean_sqr_parts = 11,
		.sqr_mean = 3.5,
		.total_batch = 128,
		.base_batch = 128,
	};

	for (int i = 0; i < 50; i++)
		plx_noise_update(&profile->tracker, &step);
}

static void rows_are_running_means(void **state)
{
	struct plx_profile profile;
	struct plx_row *row;

	(void) state;
	plx_profile_init(&profile);
	row = plx_profile_row(&profile, one, 32, 1);
	plx_row_add_pass(row, 1);
	plx_row_add_pass(row, 2);
	plx_row_add_pass(row, 6);
	assert_ptr_equal(row, plx_profile_row(&profile, one, 32, 2));
	assert_true(row->pass_s > 2.999 && row->pass_s < 3.001);
	assert_ptr_not_equal(row, plx_profile_row(&profile, one, 33, 2));
	assert_ptr_not_equal(row, plx_profile_row(&profile, four, 32, 2));
}

static void the_least_recent_row_makes_room(void **state)
{
	struct plx_profile profile;

	(void) state;
	plx_profile_init(&profile);
	for (int m = 1; m <= PLX_ROWS_MAX + 10; m++)
		plx_profile_row(&profile, one, m, (uint64_t) m);
	assert_int_equal(PLX_ROWS_MAX, profile.row_count);
	assert_true(plx_profile_valid(&profile));
	for (int i = 0; i < PLX_ROWS_MAX; i++)
		assert_true(profile.rows[i].per_gpu > 10);
}

static void it_is_fitted_when_there_is_news(void **state)
{
	struct plx_profile profile;
	struct plx_error err;

	(void) state;
	plx_profile_init(&profile);
	assert_false(plx_profile_stale(&profile));
	measure(&profile, one, 128, 2);
	assert_false(plx_profile_stale(&profile));
	assert_int_equal(-1, plx_profile_fit(&profile, &err));
	measure(&profile, one, 128, 4);
	assert_true(plx_profile_stale(&profile));
	assert_int_equal(0, plx_profile_fit(&profile, &err));
	assert_false(plx_profile_stale(&profile));
	measure(&profile, one, 128, 5);
	assert_false(plx_profile_stale(&profile));
	measure(&profile, one, 128, 1);
	assert_true(plx_profile_stale(&profile));
	assert_int_equal(1, plx_profile_largest(&profile).gpus);
}

static void the_unprofiled_use_the_base_batch(void **state)
{
	static const struct {
		int gpus;
		int per_gpu;
		int accum;
	} cases[] = {
		{ 1, 128, 0 },
		{ 3, 43, 0 },
		{ 16, 8, 0 },
		{ 64, 8, 0 },
	};
	struct plx_profile profile;
	const struct plx_batch none = { 0 };

	(void) state;
	plx_profile_init(&profile);
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct plx_shape shape = { 1, cases[i].gpus };
		struct plx_batch b =
			plx_profile_advise(&profile, &limits, shape, none);

		assert_int_equal(cases[i].per_gpu, b.per_gpu);
		assert_int_equal(cases[i].accum, b.accum);
	}
}

static void a_base_batch_too_large_for_a_gpu_is_accumulated(void **state)
{
	struct plx_limits small = limits;
	struct plx_batch b;

	(void) state;
	small.max_per_gpu = 50;
	b = plx_batch_base(&small, 1);
	assert_int_equal(43, b.per_gpu);
	assert_int_equal(2, b.accum);
	small.accumulate = false;
	b = plx_batch_base(&small, 1);
	assert_int_equal(50, b.per_gpu);
	assert_int_equal(0, b.accum);
}

static void noisy_gradients_are_given_larger_batches(void **state)
{
	struct plx_profile profile;
	const struct plx_batch none = { 0 };
	struct plx_batch b;

	(void) state;
	plx_profile_init(&profile);
	measure(&profile, one, 128, 10);
	measure(&profile, four, 32, 10);
	assert_int_equal(0, plx_profile_fit(&profile, NULL));
	see_noise(&profile);
	b = plx_profile_advise(&profile, &limits, four, none);
	assert_true(plx_batch_total(&limits, 4, b) > 128);
	/* What is best already is kept. */
	assert_int_equal(
		b.per_gpu,
		plx_profile_advise(&profile, &limits, four, b).per_gpu);
}

static void a_batch_is_not_changed_for_a_few_percent(void **state)
{
	struct plx_profile profile;
	const struct plx_batch none = { 0 };
	struct plx_batch best;
	struct plx_batch near;
	struct plx_batch advised;

	(void) state;
	plx_profile_init(&profile);
	measure(&profile, one, 128, 10);
	measure(&profile, four, 32, 10);
	assert_int_equal(0, plx_profile_fit(&profile, NULL));
	see_noise(&profile);
	best = plx_profile_advise(&profile, &limits, four, none);
	near = best;
	near.per_gpu -= 1;
	advised = plx_profile_advise(&profile, &limits, four, near);
	assert_int_equal(near.per_gpu, advised.per_gpu);
}

static void totals_stop_at_the_limit(void **state)
{
	(void) state;
	assert_int_equal(4096, plx_batch_total(&limits, 17,
					       (struct plx_batch){ 256, 0 }));
	assert_int_equal(4096, plx_batch_total(&limits, 4096,
					       (struct plx_batch){ 16777216,
								   16777216 }));
	assert_int_equal(129, plx_batch_total(&limits, 3,
					      (struct plx_batch){ 43, 0 }));
}

static void another_layout_is_not_taken_for_ours(void **state)
{
	struct plx_profile profile;

	(void) state;
	plx_profile_init(&profile);
	assert_true(plx_profile_valid(&profile));
	profile.size--;
	assert_false(plx_profile_valid(&profile));
	plx_profile_init(&profile);
	profile.row_count = PLX_ROWS_MAX + 1;
	assert_false(plx_profile_valid(&profile));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(rows_are_running_means),
		cmocka_unit_test(the_least_recent_row_makes_room),
		cmocka_unit_test(it_is_fitted_when_there_is_news),
		cmocka_unit_test(the_unprofiled_use_the_base_batch),
		cmocka_unit_test(
			a_base_batch_too_large_for_a_gpu_is_accumulated),
		cmocka_unit_test(noisy_gradients_are_given_larger_batches),
		cmocka_unit_test(a_batch_is_not_changed_for_a_few_percent),
		cmocka_unit_test(totals_stop_at_the_limit),
		cmocka_unit_test(another_layout_is_not_taken_for_ours),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
