/* SPDX-License-Identifier: MIT */
/* test_noise.c - the gradient noise scale and the gain of larger batches */

#include <math.h>
#include <string.h>

#include "core/noise.h"
#include "reference.h"

enum {
	WEIGHTS = 50,	 /* of a made-up gradient */
	GROUPS_MAX = 2,	 /* of a recorded case */
	GROUP_SIZE = 16, /* weights in one, at most */
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
	const struct plx_noise_step good = { 4, 3, 1, 128, 32 };
	struct plx_noise_step bad[] = { good, good, good, good, good, good };
	struct plx_noise_tracker tracker = { 0 };

	(void) state;
	bad[0].parts = 1;
	bad[1].mean_sqr_parts = NAN;
	bad[2].sqr_mean = INFINITY;
	bad[3].total_batch = 0;
	bad[4].base_batch = 0;
	bad[5].total_batch = NAN;
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

static void a_gain_lies_between_one_and_the_scale(void **state)
{
	uint64_t seed = 7;

	(void) state;
	for (int i = 0; i < 1000; i++) {
		struct plx_noise noise = { unit_uniform(&seed, 0, 2),
					   unit_uniform(&seed, 0, 20) };
		double scale = unit_uniform(&seed, 1, 100);
		double gain = plx_noise_gain(&noise, scale);

		assert_true(gain >= 1 && gain <= scale * (1 + 1e-12));
	}
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

/* The replay of one recorded training. */
struct replay {
	size_t groups; /* of weights, each with an estimate of its own */
	struct plx_noise_tracker trackers[GROUPS_MAX];
	double before[GROUPS_MAX][GROUP_SIZE]; /* last lone gradient */
	bool has_before;
	double progress;
};

/* Add micro-batch gradients of a group; returns how many there are. */
static int add_gradients(const json_t *gradients, size_t group, double *sum,
			 double *squares)
{
	int count = 0;
	size_t r, a, k;
	json_t *replica, *pass, *weight;

	json_array_foreach(gradients, r, replica)
	{
		json_array_foreach(replica, a, pass)
		{
			json_array_foreach(json_array_get(pass, group), k,
					   weight)
			{
				double w = json_number_value(weight);

				sum[k] += w;
				*squares += w * w;
			}
			count++;
		}
	}
	return count;
}

static double norm(const double *x, double factor)
{
	double sum = 0;

	for (int k = 0; k < GROUP_SIZE; k++)
		sum += factor * x[k] * factor * x[k];
	return sum;
}

/* Two steps of one gradient each make one step of two. */
static void take_difference(struct replay *replay, size_t group,
			    const double *gradient, double scale)
{
	double *before = replay->before[group];
	double both[GROUP_SIZE];
	struct plx_noise_step step = {
		.parts = 2,
		.mean_sqr_parts = (norm(before, 1) + norm(gradient, 1)) / 2,
		.total_batch = 2 * scale,
		.base_batch = 1,
	};

	for (int k = 0; k < GROUP_SIZE; k++)
		both[k] = before[k] + gradient[k];
	step.sqr_mean = norm(both, 0.5);
	if (replay->has_before)
		plx_noise_update(&replay->trackers[group], &step);
	memcpy(before, gradient, sizeof(both));
}

static void take_group(struct replay *replay, const json_t *recorded,
		       size_t group)
{
	double scale = reference_number(recorded, "accum_scale");
	const json_t *gradients = json_object_get(recorded, "gradients");
	size_t passes = json_array_size(json_array_get(gradients, 0));
	double sum[GROUP_SIZE] = { 0 };
	struct plx_noise_step step = { .base_batch = 1 };

	step.parts = add_gradients(gradients, group, sum, &step.mean_sqr_parts);
	if (step.parts < 2) {
		take_difference(replay, group, sum, scale);
		return;
	}
	step.mean_sqr_parts /= step.parts;
	step.sqr_mean = norm(sum, 1. / step.parts);
	step.total_batch = scale * passes;
	plx_noise_update(&replay->trackers[group], &step);
}

static void check_estimate(struct replay *replay, const json_t *recorded)
{
	struct plx_noise all = { 0 };
	double gain;

	for (size_t i = 0; i < replay->groups; i++) {
		/* What the published code begins with. */
		struct plx_noise one = { .sqr = 1, .var = 1e-6 };

		plx_noise_get(&replay->trackers[i], &one);
		all.sqr += one.sqr;
		all.var += one.var;
	}
	gain = plx_noise_gain(&all, reference_number(recorded, "scale"));
	replay->progress += gain;
	/* The recorded gradients are single precision. */
	assert_near(reference_number(recorded, "sqr"), all.sqr, 2e-5);
	assert_near(reference_number(recorded, "var"), all.var, 2e-5);
	assert_near(reference_number(recorded, "gain"), gain, 2e-5);
	assert_near(reference_number(recorded, "progress"), replay->progress,
		    2e-5);
}

static void replay_case(const json_t *c)
{
	struct replay replay = {
		.groups = json_array_size(json_object_get(c, "groups")),
	};
	size_t i;
	json_t *recorded;

	assert_true(replay.groups <= GROUPS_MAX);
	json_array_foreach(json_object_get(c, "steps"), i, recorded)
	{
		for (size_t g = 0; g < replay.groups; g++)
			take_group(&replay, recorded, g);
		replay.has_before = true;
		check_estimate(&replay, recorded);
	}
}

static void the_estimates_are_the_published_ones(void **state)
{
	json_t *root = reference_load("gns_master.json");
	int replayed = 0;
	size_t i;
	json_t *c;

	(void) state;
	json_array_foreach(json_object_get(root, "cases"), i, c)
	{
		/* Adam's gradients are preconditioned: not ours. */
		if (strcmp(reference_text(c, "optimizer"), "sgd") != 0)
			continue;
		/* Nothing but rounding errors. */
		if (!strcmp(reference_text(c, "name"), "signal_only_zero_var"))
			continue;
		replay_case(c);
		replayed++;
	}
	print_message("# %d trainings replayed\n", replayed);
	assert_true(replayed > 0);
	json_decref(root);
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
		cmocka_unit_test(a_gain_lies_between_one_and_the_scale),
		cmocka_unit_test(the_gain_is_adascales),
		cmocka_unit_test(the_estimates_are_the_published_ones),
	};

	return _cmocka_run_group_tests("noise", tests,
				       reference_runnable(ARRAY_SIZE(tests), 2),
				       NULL, NULL);
}
