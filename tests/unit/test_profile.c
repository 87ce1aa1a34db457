/* SPDX-License-Identifier: MIT */
/* test_profile.c - what was measured, and the batch it advises */

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "agent/base/profile.h"
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

/* Steps of one pass each. */
static void add_steps(struct plx_profile_row *row, double pass_s, double sync_s,
		      int steps)
{
	for (int i = 0; i < steps; i++) {
		plx_row_add_pass(row, pass_s);
		plx_row_add_step(row, pass_s + sync_s);
	}
}

/* Steps on a shape, at a pass time that grows with m. */
static void measure(struct plx_profile *profile, struct plx_shape shape, int m,
		    int steps)
{
	add_steps(plx_profile_row(profile, shape, m, 1), 0.010 + 0.0001 * m,
		  shape.gpus > 1 ? 0.005 : 0, steps);
}

/* On a GPU that takes so many times as long for a pass. */
static void measure_on(struct plx_profile *profile, struct plx_shape shape,
		       int m, double slower)
{
	add_steps(plx_profile_row(profile, shape, m, 1),
		  slower * (0.010 + 0.0001 * m), shape.gpus > 1 ? 0.005 : 0, 8);
}

static void fit(struct plx_profile *profile)
{
	assert_int_equal(0, plx_profile_fit(profile, PLX_BY_DOUBLING, NULL));
}

static struct plx_batch advise(const struct plx_profile *profile,
			       struct plx_shape shape, struct plx_batch from)
{
	return plx_profile_advise(profile, &limits, shape, from,
				  PLX_CHANGE_GAIN);
}

/* Gradients of norm 1, with so much variance at 128 samples. */
static void see_noise(struct plx_profile *profile, double var)
{
	const struct plx_noise_step step = {
		.parts = 4,
		.mean_sqr_parts = 1 + 4 * var,
		.sqr_mean = 1 + var,
		.total_batch = 128,
		.base_batch = 128,
		.window = PLX_NOISE_WINDOW,
	};

	for (int i = 0; i < 50; i++)
		plx_noise_update(&profile->noise.of[0], &step);
}

static void rows_are_running_means(void **state)
{
	struct plx_profile profile;
	struct plx_profile_row *row;

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

/* Steps of 0.1 s, but one of 5 s: after so many, what is their mean? */
static double with_a_frozen_step(int which, int steps)
{
	struct plx_profile_row row = { .passes = 0 };

	for (int i = 0; i < steps; i++)
		plx_row_add_step(&row, i == which ? 5 : 0.1);
	return row.step_s;
}

static void a_frozen_step_hardly_counts(void **state)
{
	(void) state;
	for (int which = 0; which < 20; which++)
		assert_true(with_a_frozen_step(which, 20) < 0.12);
	assert_true(with_a_frozen_step(0, 2) < 0.11);
}

static void steps_that_stay_slow_are_believed(void **state)
{
	struct plx_profile_row row = { .passes = 0 };

	(void) state;
	for (int i = 0; i < 20; i++)
		plx_row_add_step(&row, 0.1);
	for (int i = 0; i < 60; i++)
		plx_row_add_step(&row, 2);
	assert_true(row.step_s > 1);
}

static void a_time_of_nothing_is_no_trap(void **state)
{
	struct plx_profile_row row = { .passes = 0 };

	(void) state;
	for (int i = 0; i < 9; i++)
		plx_row_add_step(&row, i ? 1 : 0);
	assert_true(row.step_s > 0.8);
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
	assert_int_equal(-1, plx_profile_fit(&profile, PLX_BY_DOUBLING, &err));
	measure(&profile, one, 128, 4);
	assert_true(plx_profile_stale(&profile));
	assert_int_equal(0, plx_profile_fit(&profile, PLX_BY_DOUBLING, &err));
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
		struct plx_shape shape = { 1, cases[i].gpus, 0 };
		struct plx_batch b = advise(&profile, shape, none);

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

/* Fitted, and gradients so noisy that larger batches pay. */
static void learn_noisy(struct plx_profile *profile)
{
	plx_profile_init(profile);
	measure(profile, one, 128, 10);
	measure(profile, four, 32, 10);
	fit(profile);
	see_noise(profile, 2.5);
}

static void noisy_gradients_are_given_larger_batches(void **state)
{
	struct plx_profile profile;
	const struct plx_batch none = { 0 };
	struct plx_batch b;

	(void) state;
	learn_noisy(&profile);
	b = advise(&profile, four, none);
	assert_true(plx_batch_total(&limits, 4, b) > 128);
	/* What is best already is kept. */
	assert_int_equal(b.per_gpu, advise(&profile, four, b).per_gpu);
}

static void a_batch_is_not_changed_for_a_few_percent(void **state)
{
	struct plx_profile profile;
	const struct plx_batch none = { 0 };
	struct plx_batch best;
	struct plx_batch near;
	struct plx_batch advised;

	(void) state;
	learn_noisy(&profile);
	best = advise(&profile, four, none);
	near = best;
	near.per_gpu -= 1;
	advised = advise(&profile, four, near);
	assert_int_equal(near.per_gpu, advised.per_gpu);
}

/* All-reduces that take longer with each doubling of GPUs. */
static void measure_doublings(struct plx_profile *profile)
{
	static const struct plx_shape shapes[] = {
		{ 1, 1, 0 }, { 1, 2, 0 },  { 2, 4, 0 },
		{ 3, 8, 0 }, { 4, 16, 0 },
	};

	for (size_t i = 0; i < ARRAY_SIZE(shapes); i++) {
		double gpus = shapes[i].gpus;

		add_steps(plx_profile_row(profile, shapes[i], 32, 1), 0.050,
			  0.02 * log2(gpus), 8);
	}
}

static double foreseen(const struct plx_profile *profile)
{
	return plx_iter_seconds(&profile->model,
				(struct plx_shape){ 16, 128, 0 }, 32);
}

static void either_model_can_be_fitted(void **state)
{
	struct plx_profile profile;

	(void) state;
	plx_profile_init(&profile);
	measure_doublings(&profile);
	fit(&profile);
	assert_int_equal(PLX_BY_DOUBLING, profile.model.growth);
	/* 0.19 s; the paper's model is far off. */
	assert_true(fabs(log(foreseen(&profile) / 0.190)) < 0.15);
	assert_int_equal(0, plx_profile_fit(&profile, PLX_BY_GPU, NULL));
	assert_int_equal(PLX_BY_GPU, profile.model.growth);
	assert_true(profile.model.two_nodes == 0);
	assert_true(foreseen(&profile) > 1.5 * 0.190);
	fit(&profile);
	assert_true(fabs(log(foreseen(&profile) / 0.190)) < 0.15);
}

/* Each from the last, as measurements come in. */
static void fits_one_after_the_other_end_as_one_from_scratch(void **state)
{
	struct plx_profile warm;
	struct plx_profile cold;

	(void) state;
	plx_profile_init(&warm);
	plx_profile_init(&cold);
	for (int round = 0; round < 10; round++) {
		measure(&warm, one, 32, 3);
		measure(&warm, four, 32 + 8 * round, 3);
		fit(&warm);
		measure(&cold, one, 32, 3);
		measure(&cold, four, 32 + 8 * round, 3);
	}
	fit(&cold);
	for (int m = 8; m <= 256; m *= 2)
		assert_true(fabs(log(plx_iter_seconds(&warm.model, four, m) /
				     plx_iter_seconds(&cold.model, four, m))) <
			    0.01);
}

static void a_fit_of_nothing_leaves_the_model(void **state)
{
	struct plx_profile profile;
	struct plx_model before;
	struct plx_error err;

	(void) state;
	plx_profile_init(&profile);
	measure(&profile, one, 128, 8);
	fit(&profile);
	before = profile.model;
	profile.row_count = 0;
	assert_int_equal(-1, plx_profile_fit(&profile, PLX_BY_DOUBLING, &err));
	assert_true(err.text[0]);
	assert_true(before.alpha_c == profile.model.alpha_c &&
		    before.gamma == profile.model.gamma);
}

/* Above 64 samples its passes take half as long again. */
static double with_a_cliff(int m)
{
	return (0.010 + 0.0005 * m) * (m > 64 ? 1.5 : 1);
}

static double true_goodput(const struct plx_profile *profile,
			   struct plx_batch b)
{
	double pass = with_a_cliff(b.per_gpu);
	double total = 4.0 * b.per_gpu * (b.accum + 1);
	struct plx_noise noise;

	assert_true(plx_noise_sum(&profile->noise, &noise));
	return total / (pass * (b.accum + 1) + 0.02) *
	       plx_efficiency(&noise, limits.base_batch, total);
}

static void what_was_measured_corrects_the_model(void **state)
{
	static const int sizes[] = { 16, 32, 64, 65, 96, 128, 192, 256 };
	const struct plx_batch none = { 0 };
	struct plx_profile profile;
	struct plx_goodput job;
	struct plx_batch model;
	struct plx_batch advised;
	double goodput;

	(void) state;
	plx_profile_init(&profile);
	see_noise(&profile, 20);
	for (size_t i = 0; i < ARRAY_SIZE(sizes); i++)
		add_steps(plx_profile_row(&profile, four, sizes[i], 1),
			  with_a_cliff(sizes[i]), 0.02, 8);
	fit(&profile);
	assert_true(plx_profile_goodput(&profile, &limits, &job));
	assert_true(plx_batch_best(&job, four, &model, &goodput));
	advised = advise(&profile, four, none);
	assert_true(true_goodput(&profile, advised) >
		    1.05 * true_goodput(&profile, model));
	/* It leaves the model's choice for it, too, and stays. */
	advised = advise(&profile, four, model);
	assert_true(true_goodput(&profile, advised) >
		    1.05 * true_goodput(&profile, model));
	model = advise(&profile, four, advised);
	assert_int_equal(advised.per_gpu, model.per_gpu);
	assert_int_equal(advised.accum, model.accum);
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

/* One that a checkpoint brings may be anything. */
static void damaged_numbers_are_not_taken(void **state)
{
	static const int none = 0;
	static const int negative = -1;
	static const double numbers[] = { NAN, INFINITY, -1 };
	struct plx_profile good;
	struct plx_profile bad;
	const struct {
		void *at;
		const void *value;
		size_t size;
	} cases[] = {
		{ &bad.has_model, "\7", sizeof(bad.has_model) },
		{ &bad.rows[0].per_gpu, &negative, sizeof(int) },
		{ &bad.rows[0].shape.gpus, &none, sizeof(int) },
		{ &bad.rows[0].step_s, &numbers[0], sizeof(double) },
		{ &bad.noise.of[0].sqr_weight, &numbers[1], sizeof(double) },
		{ &bad.restart_s, &numbers[2], sizeof(double) },
	};

	(void) state;
	plx_profile_init(&good);
	measure(&good, one, 128, 2);
	assert_true(plx_profile_valid(&good));
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		bad = good;
		memcpy(cases[i].at, cases[i].value, cases[i].size);
		if (plx_profile_valid(&bad))
			fail_msg("damage %zu is not seen", i);
	}
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

/* ---- types of GPUs ---- */

static const struct plx_shape two = { .nodes = 1, .gpus = 2 };

/* Known on one type, on one to four GPUs. */
static void know(struct plx_profile *profile)
{
	plx_profile_init(profile);
	plx_profile_on(profile, "a100");
	see_noise(profile, 10);
	measure_on(profile, one, 64, 1);
	measure_on(profile, one, 128, 1);
	measure_on(profile, two, 128, 1);
	measure_on(profile, four, 128, 1);
	fit(profile);
}

static void a_model_is_not_known_on_another_type(void **state)
{
	struct plx_profile profile;
	struct plx_goodput job;
	struct plx_noise noise;

	(void) state;
	know(&profile);
	assert_true(plx_profile_goodput(&profile, &limits, &job));
	plx_profile_on(&profile, "a100");
	plx_profile_on(&profile, "");
	assert_true(plx_profile_goodput(&profile, &limits, &job));
	plx_profile_on(&profile, "t4");
	assert_false(plx_profile_goodput(&profile, &limits, &job));
	assert_false(plx_profile_stale(&profile));
	assert_int_equal(-1, plx_profile_fit(&profile, PLX_BY_DOUBLING, NULL));
	/* The noise is of the training. */
	assert_true(plx_noise_sum(&profile.noise, &noise));
	assert_true(plx_profile_valid(&profile));
}

static void steps_there_scale_the_model_by_one_ratio(void **state)
{
	struct plx_profile profile;
	struct plx_goodput before;
	struct plx_goodput job;

	(void) state;
	know(&profile);
	assert_true(plx_profile_goodput(&profile, &limits, &before));
	plx_profile_on(&profile, "t4");
	measure_on(&profile, one, 128, 5);
	assert_true(plx_profile_stale(&profile));
	fit(&profile);
	assert_true(plx_profile_goodput(&profile, &limits, &job));
	/* Also of a batch and a shape that were not measured there, ... */
	assert_float_equal(5,
			   plx_grad_seconds(&job.model, 64) /
				   plx_grad_seconds(&before.model, 64),
			   0.4);
	assert_float_equal(0.117, plx_iter_seconds(&job.model, four, 128),
			   0.012);
	/* ... so that shapes known on the other are known here. */
	assert_int_equal(4, plx_profile_largest(&profile).gpus);
	assert_true(plx_profile_valid(&profile));
}

static void times_of_two_types_are_kept_apart(void **state)
{
	struct plx_profile profile;
	struct plx_goodput before;
	struct plx_goodput job;

	(void) state;
	know(&profile);
	assert_true(plx_profile_goodput(&profile, &limits, &before));
	plx_profile_on(&profile, "t4");
	measure_on(&profile, one, 128, 5);
	measure_on(&profile, four, 128, 5);
	fit(&profile);
	plx_profile_on(&profile, "a100");
	fit(&profile);
	assert_true(plx_profile_goodput(&profile, &limits, &job));
	assert_float_equal(1,
			   plx_grad_seconds(&job.model, 128) /
				   plx_grad_seconds(&before.model, 128),
			   0.02);
}

static void a_type_that_was_not_known_is_taken_for_the_first(void **state)
{
	struct plx_profile profile;
	struct plx_goodput job;

	(void) state;
	plx_profile_init(&profile);
	see_noise(&profile, 10);
	measure_on(&profile, one, 128, 1);
	fit(&profile);
	plx_profile_on(&profile, "a100");
	assert_true(plx_profile_goodput(&profile, &limits, &job));
	plx_profile_on(&profile, "t4");
	assert_false(plx_profile_goodput(&profile, &limits, &job));
}

static void what_fits_into_memory_is_of_a_type(void **state)
{
	struct plx_profile profile;

	(void) state;
	know(&profile);
	profile.fits = 32;
	profile.fits_not = 64;
	plx_profile_on(&profile, "t4");
	assert_int_equal(0, profile.fits);
	assert_int_equal(0, profile.fits_not);
}

static void of_many_types_the_one_not_used_longest_goes(void **state)
{
	struct plx_profile profile;
	char type[8];

	(void) state;
	know(&profile);
	for (int i = 0; i < 20; i++) {
		snprintf(type, sizeof(type), "t%d", i);
		plx_profile_on(&profile, type);
		plx_profile_row(&profile, one, 32, (uint64_t) i + 2);
		assert_true(plx_profile_valid(&profile));
		assert_true(profile.row_count <= 4 + PLX_PROFILE_TYPES);
		/* The one that knows most is kept. */
		assert_int_equal(4, plx_profile_largest(&profile).gpus);
	}
}

/* What another type measured stands in for nothing that is absurd. */
static void a_ratio_of_nonsense_is_none(void **state)
{
	static const double wrong[] = { NAN, INFINITY, -1, 0, 1e300 };
	struct plx_profile profile;

	(void) state;
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		know(&profile);
		plx_profile_on(&profile, "t4");
		profile.base.alpha_c = wrong[i];
		profile.base.beta_c = wrong[i];
		measure_on(&profile, one, 128, 5);
		fit(&profile);
		assert_float_equal(0.114, plx_grad_seconds(&profile.model, 128),
				   0.002);
		assert_int_equal(1, plx_profile_largest(&profile).gpus);
	}
}

/* On nodes of one switch, and then on nodes of two. */
static void times_on_one_switch_and_on_two_are_kept_apart(void **state)
{
	const struct plx_shape wide = { 2, 4, 1 };
	struct plx_profile profile;

	(void) state;
	plx_profile_init(&profile);
	measure(&profile, one, 128, 8);
	add_steps(plx_profile_row(&profile, wide, 128, 1), 0.0228, 0.020, 8);
	fit(&profile);
	assert_int_equal(1, profile.model.further);
	assert_true(profile.model.per_switch == 0);
	add_steps(plx_profile_row(&profile, four, 128, 2), 0.0228, 0.005, 8);
	assert_int_equal(3, profile.row_count);
	assert_true(plx_profile_stale(&profile));
	fit(&profile);
	assert_int_equal(0, profile.model.further);
	assert_true(profile.model.per_switch > 1);
	assert_true(plx_profile_valid(&profile));
	profile.rows[1].shape.further = PLX_FURTHER_MAX + 1;
	assert_false(plx_profile_valid(&profile));
	profile.rows[1].shape.further = -1;
	assert_false(plx_profile_valid(&profile));
}

/* A batch that was measured on two switches is not that of one. */
static void a_batch_is_chosen_by_what_was_measured_on_as_many(void **state)
{
	const struct plx_shape wide = { 2, 4, 1 };
	struct plx_profile profile;
	struct plx_batch batch;
	struct plx_batch few;

	(void) state;
	plx_profile_init(&profile);
	for (int m = 32; m <= 256; m *= 2) {
		measure(&profile, one, m, 8);
		add_steps(plx_profile_row(&profile, four, m, 1),
			  0.010 + 0.0001 * m, 0.002, 8);
		add_steps(plx_profile_row(&profile, wide, m, 1),
			  0.010 + 0.0001 * m, 0.2, 8);
	}
	fit(&profile);
	see_noise(&profile, 3);
	batch = advise(&profile, wide, (struct plx_batch){ 0 });
	few = advise(&profile, four, (struct plx_batch){ 0 });
	assert_true(plx_batch_total(&limits, 4, batch) >
		    plx_batch_total(&limits, 4, few));
}

static void a_profile_of_another_version_is_begun_anew(void **state)
{
	struct plx_profile saved;
	struct plx_profile profile;

	(void) state;
	know(&saved);
	saved.progress = 77;
	plx_profile_take(&profile, &saved, sizeof(saved));
	assert_true(profile.progress == 77);
	assert_int_equal(4, plx_profile_largest(&profile).gpus);
	plx_profile_take(&profile, &saved, sizeof(saved) - 8);
	assert_true(plx_profile_valid(&profile) && profile.row_count == 0);
	saved.version--;
	plx_profile_take(&profile, &saved, sizeof(saved));
	assert_true(plx_profile_valid(&profile) && profile.row_count == 0);
}

/* ---- nodes that were busy */

static const struct plx_shape eight = { .nodes = 2, .gpus = 8 };

struct training {
	struct plx_profile profile;
	uint64_t step;
	uint64_t random;
	int fits;
};

/*
 * Steps whose all-reduce takes so many times as long as on quiet nodes; on busy
 * ones they differ by up to 30 per cent from each other, else by 5.
 */
static void train_on(struct training *t, struct plx_shape shape, int m,
		     double busy, int steps)
{
	double pass_s = 0.02 + 0.002 * m;
	double sync_s = shape.gpus == 1 ? 0 : shape.nodes == 1 ? 0.02 : 0.04;

	for (int i = 0; i < steps; i++) {
		double chance = (double) (unit_random(&t->random) % 2001);
		double times =
			1 + (busy > 1 ? 0.3 : 0.05) * (chance / 1000 - 1);

		add_steps(plx_profile_row(&t->profile, shape, m, ++t->step),
			  times * pass_s, times * busy * sync_s, 1);
		if (!plx_profile_stale(&t->profile))
			continue;
		fit(&t->profile);
		t->fits++;
	}
}

static struct training begin_training(void)
{
	struct training t = { .random = 1954 };

	plx_profile_init(&t.profile);
	train_on(&t, one, 128, 1, 50);
	train_on(&t, (struct plx_shape){ 1, 4, 0 }, 32, 1, 50);
	return t;
}

/* By how much two trainings expect other times, at most; as logarithm. */
static double apart(const struct training *a, const struct training *b)
{
	const struct plx_shape shapes[] = { { 1, 4, 0 }, eight, { 4, 16, 0 } };
	double most = 0;

	for (size_t i = 0; i < ARRAY_SIZE(shapes); i++) {
		for (int m = 8; m <= 64; m *= 2)
			most = fmax(most,
				    fabs(log(plx_iter_seconds(&a->profile.model,
							      shapes[i], m) /
					     plx_iter_seconds(&b->profile.model,
							      shapes[i], m))));
	}
	return most;
}

/* All that was measured on eight GPUs was measured on busy nodes. */
static void nodes_that_were_busy_are_soon_forgotten(void **state)
{
	static const int sizes[] = { 16, 24, 32, 48 };
	static const struct {
		double busy;
		int steps; /* with each batch */
		int batches;
	} cases[] = {
		{ 8, 30, 1 },  { 8, 300, 1 }, { 4, 300, 1 }, { 8, 300, 2 },
		{ 8, 300, 3 }, { 8, 800, 1 }, { 8, 100, 4 }, { 4, 300, 2 },
	};

	(void) state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct training quiet = begin_training();
		struct training busy = begin_training();

		for (int b = 0; b < cases[i].batches; b++) {
			train_on(&quiet, eight, sizes[b], 1, 300);
			train_on(&busy, eight, sizes[b], cases[i].busy,
				 cases[i].steps);
		}
		assert_true(apart(&busy, &quiet) > log(2));
		train_on(&busy, eight, sizes[cases[i].batches - 1], 1, 700);
		assert_true(apart(&busy, &quiet) < log(1.25));
	}
}

static double on_eight(const struct training *t, int m)
{
	return plx_iter_seconds(&t->profile.model, eight, m);
}

/* Of 124 ms; just now it would take 400. */
static void nodes_that_are_busy_now_take_no_former_time_away(void **state)
{
	struct training t = begin_training();

	(void) state;
	train_on(&t, eight, 32, 1, 100);
	train_on(&t, eight, 24, 8, 100);
	assert_true(on_eight(&t, 32) < 0.250);
	assert_true(on_eight(&t, 32) > 0.150);
}

static void a_larger_batch_may_take_longer(void **state)
{
	struct training t = { .random = 1954 };

	(void) state;
	plx_profile_init(&t.profile);
	train_on(&t, eight, 128, 1, 100);
	train_on(&t, eight, 16, 1, 100);
	assert_true(fabs(log(on_eight(&t, 128) / 0.316)) < log(1.05));
}

static void two_steps_contradict_nobody(void **state)
{
	struct training t = begin_training();

	(void) state;
	train_on(&t, eight, 24, 1, 100);
	add_steps(plx_profile_row(&t.profile, eight, 32, ++t.step), 0.001,
		  0.001, 2);
	fit(&t.profile);
	assert_true(fabs(log(on_eight(&t, 24) / 0.108)) < log(1.05));
}

static void a_faster_type_contradicts_nobody(void **state)
{
	struct training t = { .random = 1954 };

	(void) state;
	plx_profile_init(&t.profile);
	plx_profile_on(&t.profile, "slow");
	train_on(&t, eight, 24, 8, 100);
	plx_profile_on(&t.profile, "fast");
	train_on(&t, eight, 24, 1, 100);
	plx_profile_on(&t.profile, "slow");
	fit(&t.profile);
	assert_true(on_eight(&t, 24) > 0.3);
}

/* Passes of two almost equal batches, of which one takes thrice as long. */
static void what_no_model_explains_is_not_fitted_at_each_step(void **state)
{
	struct training t = { .random = 1954 };

	(void) state;
	plx_profile_init(&t.profile);
	for (int i = 0; i < 1000; i++) {
		train_on(&t, eight, 16, 1, 1);
		train_on(&t, eight, 17, 8, 1);
	}
	assert_in_range(t.fits, 8, 60);
}

static void a_steady_shape_is_hardly_ever_fitted_again(void **state)
{
	struct training t = begin_training();

	(void) state;
	train_on(&t, eight, 16, 1, 400);
	t.fits = 0;
	train_on(&t, eight, 16, 1, 4000);
	assert_in_range(t.fits, 1, 8);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(rows_are_running_means),
		cmocka_unit_test(a_frozen_step_hardly_counts),
		cmocka_unit_test(steps_that_stay_slow_are_believed),
		cmocka_unit_test(a_time_of_nothing_is_no_trap),
		cmocka_unit_test(the_least_recent_row_makes_room),
		cmocka_unit_test(it_is_fitted_when_there_is_news),
		cmocka_unit_test(the_unprofiled_use_the_base_batch),
		cmocka_unit_test(
			a_base_batch_too_large_for_a_gpu_is_accumulated),
		cmocka_unit_test(noisy_gradients_are_given_larger_batches),
		cmocka_unit_test(a_batch_is_not_changed_for_a_few_percent),
		cmocka_unit_test(either_model_can_be_fitted),
		cmocka_unit_test(
			fits_one_after_the_other_end_as_one_from_scratch),
		cmocka_unit_test(a_fit_of_nothing_leaves_the_model),
		cmocka_unit_test(what_was_measured_corrects_the_model),
		cmocka_unit_test(totals_stop_at_the_limit),
		cmocka_unit_test(damaged_numbers_are_not_taken),
		cmocka_unit_test(another_layout_is_not_taken_for_ours),
		cmocka_unit_test(a_model_is_not_known_on_another_type),
		cmocka_unit_test(steps_there_scale_the_model_by_one_ratio),
		cmocka_unit_test(times_of_two_types_are_kept_apart),
		cmocka_unit_test(
			a_type_that_was_not_known_is_taken_for_the_first),
		cmocka_unit_test(what_fits_into_memory_is_of_a_type),
		cmocka_unit_test(of_many_types_the_one_not_used_longest_goes),
		cmocka_unit_test(a_ratio_of_nonsense_is_none),
		cmocka_unit_test(times_on_one_switch_and_on_two_are_kept_apart),
		cmocka_unit_test(
			a_batch_is_chosen_by_what_was_measured_on_as_many),
		cmocka_unit_test(a_profile_of_another_version_is_begun_anew),
		cmocka_unit_test(nodes_that_were_busy_are_soon_forgotten),
		cmocka_unit_test(
			nodes_that_are_busy_now_take_no_former_time_away),
		cmocka_unit_test(a_larger_batch_may_take_longer),
		cmocka_unit_test(two_steps_contradict_nobody),
		cmocka_unit_test(a_faster_type_contradicts_nobody),
		cmocka_unit_test(
			what_no_model_explains_is_not_fitted_at_each_step),
		cmocka_unit_test(a_steady_shape_is_hardly_ever_fitted_again),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
