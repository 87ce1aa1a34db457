/* SPDX-License-Identifier: MIT */
/* test_noise.c - the gradient noise scale and the gain of larger batches */

#include <math.h>

#include "core/model/noise.h"
#include "reached.h"
#include "reference.h"

enum {
	WEIGHTS = 50, /* of a made-up gradient */
};

/* A standard normal number, by Box and Muller. */
static double normal(uint64_t *seed)
{
	double u = unit_uniform(seed, 1e-9, 1);
	double v = unit_uniform(seed, 0, 1);

	return sqrt(-2 * log(u)) * cos(2 * acos(-1) * v);
}

/*
 * A step of `parts` gradients of `samples` each; a sample's gradient is
 * `mean` everywhere, with variance `var` a weight.
 */
static struct plx_noise_step step_of(uint64_t *seed, int parts, double samples,
				     double mean, double var)
{
	double sum[WEIGHTS] = { 0 };
	struct plx_noise_step step = {
		.parts = parts,
		.total_batch = parts * samples,
		.base_batch = 32,
		.window = PLX_NOISE_WINDOW,
	};

	for (int i = 0; i < parts; i++) {
		for (int k = 0; k < WEIGHTS; k++) {
			double g = mean + sqrt(var / samples) * normal(seed);

			sum[k] += g;
			step.mean_sqr_parts += g * g / parts;
		}
	}
	for (int k = 0; k < WEIGHTS; k++)
		step.sqr_mean += sum[k] / parts * sum[k] / parts;
	return step;
}

static void there_is_no_estimate_before_the_first_step(void **state)
{
	struct plx_noise_tracker tracker = { 0 };
	struct plx_noise noise = { 1, 2 };

	(void) state;
	assert_false(plx_noise_get(&tracker, &noise));
	assert_true(noise.sqr == 1 && noise.var == 2);
}

/* One gradient, or numbers that are not any. */
static void steps_that_say_nothing_are_ignored(void **state)
{
	const struct plx_noise_step good = { 4, 3, 1, 128, 32, 1000 };
	struct plx_noise_step bad[] = {
		good, good, good, good, good, good, good
	};
	struct plx_noise_tracker tracker = { 0 };

	(void) state;
	bad[0].parts = 1;
	bad[1].mean_sqr_parts = NAN;
	bad[2].sqr_mean = INFINITY;
	bad[3].total_batch = 0;
	bad[4].base_batch = 0;
	bad[5].total_batch = NAN;
	bad[6].window = 0;
	plx_noise_update(&tracker, &good);
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		struct plx_noise_tracker before = tracker;

		plx_noise_update(&tracker, &bad[i]);
		assert_memory_equal(&before, &tracker, sizeof(tracker));
	}
	assert_int_equal(1, tracker.updates);
}

static void a_damaged_state_gives_no_estimate(void **state)
{
	struct plx_noise_tracker tracker = { .updates = 5, .sqr_biased = NAN };
	struct plx_noise noise;

	(void) state;
	assert_false(plx_noise_get(&tracker, &noise));
}

/* Whatever the number of GPUs and passes, and the batch of each. */
static void estimates_approach_the_truth(void **state)
{
	const struct {
		int parts;
		double samples;
	} cases[] = { { 2, 16 }, { 4, 8 }, { 4, 64 }, { 16, 32 }, { 64, 2 } };
	const double mean = 0.2;
	const double var = 3;
	uint64_t seed = 5;

	(void) state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct plx_noise_tracker tracker = { 0 };
		struct plx_noise noise;

		for (int n = 0; n < 3000; n++) {
			struct plx_noise_step step =
				step_of(&seed, cases[i].parts, cases[i].samples,
					mean, var);

			plx_noise_update(&tracker, &step);
		}
		assert_true(plx_noise_get(&tracker, &noise));
		assert_near(WEIGHTS * mean * mean, noise.sqr, 0.1);
		assert_near(WEIGHTS * var / 32, noise.var, 0.1);
	}
}

static void the_estimate_does_not_jump_when_the_shape_changes(void **state)
{
	struct plx_noise_tracker tracker = { 0 };
	uint64_t seed = 6;
	struct plx_noise noise;

	(void) state;
	for (int n = 0; n < 4000; n++) {
		bool large = n / 500 % 2;
		struct plx_noise_step step =
			step_of(&seed, large ? 16 : 2, large ? 32 : 16, 0.2, 3);

		plx_noise_update(&tracker, &step);
		if (n < 1000)
			continue;
		assert_true(plx_noise_get(&tracker, &noise));
		assert_near(50 * 3. / 32, noise.var, 0.2);
	}
}

/* The noise becomes nine times as strong; how much of it is seen after 100. */
static double seen_of_a_change(double window)
{
	struct plx_noise_tracker tracker = { 0 };
	struct plx_noise noise = { 0 };
	uint64_t seed = 8;

	for (int n = 0; n < 1100; n++) {
		struct plx_noise_step step =
			step_of(&seed, 4, 8, 0.2, n < 1000 ? 3 : 27);

		step.window = window;
		plx_noise_update(&tracker, &step);
	}
	assert_true(plx_noise_get(&tracker, &noise));
	return noise.var / (WEIGHTS * 27. / 32);
}

static void a_short_window_follows_a_change(void **state)
{
	(void) state;
	assert_true(seen_of_a_change(1000) < 0.35);
	assert_true(seen_of_a_change(25) > 0.85);
}

static void a_gain_lies_between_one_and_the_scale(void **state)
{
	struct reached reached[] = { { "a gain close to one", 0 },
				     { "a gain between", 0 },
				     { "a gain close to the scale", 0 } };
	uint64_t seed = 7;

	(void) state;
	for (int i = 0; i < 1000; i++) {
		struct plx_noise noise = { unit_uniform(&seed, 0, 2),
					   unit_uniform(&seed, 0, 20) };
		double scale = unit_uniform(&seed, 1, 100);
		double gain = plx_noise_gain(&noise, scale);

		double part = (gain - 1) / (scale - 1);

		assert_true(gain >= 1 && gain <= scale * (1 + 1e-12));
		reached[part < 0.1 ? 0 : part < 0.9 ? 1 : 2].times++;
	}
	assert_all_reached(reached, ARRAY_SIZE(reached), 20);
}

static void the_gain_is_adascales(void **state)
{
	json_t *root = reference_load("lr_scaling_master.json");
	size_t i;
	json_t *c;

	(void) state;
	json_array_foreach(json_object_get(root, "rules"), i, c)
	{
		struct plx_noise noise = reference_noise(c);
		double scale = reference_number(c, "scale");

		assert_near(reference_number(c, "adascale"),
			    plx_noise_gain(&noise, scale), 1e-9);
	}
	assert_true(i > 0);
	json_decref(root);
}

/* Groups have a learning rate of their own, and one noise together. */
static void the_noise_of_all_is_the_sum_of_the_groups(void **state)
{
	struct plx_noise_groups groups = { .count = 2 };
	struct plx_noise noise = { 7, 7 };
	struct plx_noise one;
	uint64_t seed = 8;

	(void) state;
	assert_false(plx_noise_sum(&groups, &noise));
	assert_true(noise.sqr == 7 && noise.var == 7);
	for (int n = 0; n < 10; n++) {
		struct plx_noise_step step = step_of(&seed, 4, 8, 0.5, 2);

		plx_noise_update(&groups.of[1], &step);
	}
	assert_true(plx_noise_sum(&groups, &noise));
	assert_true(plx_noise_get(&groups.of[1], &one));
	/* One that has seen nothing counts as the published code begins. */
	assert_near(one.sqr + 1, noise.sqr, 1e-12);
	assert_near(one.var + 1e-6, noise.var, 1e-12);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(there_is_no_estimate_before_the_first_step),
		cmocka_unit_test(steps_that_say_nothing_are_ignored),
		cmocka_unit_test(a_damaged_state_gives_no_estimate),
		cmocka_unit_test(estimates_approach_the_truth),
		cmocka_unit_test(
			the_estimate_does_not_jump_when_the_shape_changes),
		cmocka_unit_test(a_short_window_follows_a_change),
		cmocka_unit_test(a_gain_lies_between_one_and_the_scale),
		cmocka_unit_test(the_noise_of_all_is_the_sum_of_the_groups),
		cmocka_unit_test(the_gain_is_adascales),
	};

	return _cmocka_run_group_tests("noise", tests,
				       reference_runnable(ARRAY_SIZE(tests), 1),
				       NULL, NULL);
}
