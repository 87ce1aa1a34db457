/* SPDX-License-Identifier: MIT */
/* test_measured.c - the best batch, where measured times correct the model */

#include <math.h>
#include <string.h>

#include "core/model/measured.h"
#include "reached.h"
#include "unit.h"

enum { ROWS_MAX = 64 };

static const struct plx_goodput usual = {
	.model = { 0.05, 0.002, 0.1, 0.01, 0.02, 0.001, 1.5 },
	.noise = { 1, 20 },
	.limits = { 128, 4096, 8, 256, true },
};

static int any(uint64_t *seed, int low, int high)
{
	return low + (int) (unit_random(seed) % (uint64_t) (high - low + 1));
}

/* From low to high, each power of ten as likely. */
static double spread(uint64_t *seed, double low, double high)
{
	return exp(unit_uniform(seed, log(low), log(high)));
}

static struct plx_goodput any_job(uint64_t *seed)
{
	int base = any(seed, 1, 512);
	int least = any(seed, 1, 32);

	return (struct plx_goodput){
		.model = { spread(seed, 1e-4, 1), spread(seed, 1e-5, 0.1),
			   spread(seed, 1e-3, 1), spread(seed, 1e-5, 0.1),
			   spread(seed, 1e-3, 1), spread(seed, 1e-5, 0.1),
			   unit_uniform(seed, 1, 10) },
		.noise = { spread(seed, 1e-3, 10), spread(seed, 1e-2, 1e3) },
		.limits = { base, base * any(seed, 1, 64), least,
			    least + any(seed, 0, 512), unit_random(seed) % 2 },
	};
}

static struct plx_shape any_shape(uint64_t *seed)
{
	int nodes = any(seed, 1, 8);

	return (struct plx_shape){ nodes, any(seed, nodes, 8 * nodes), 0 };
}

/* What a job off by this factor measures there. */
static struct plx_sample row(const struct plx_goodput *job,
			     struct plx_shape shape, int m, double off)
{
	double pass = off * plx_grad_seconds(&job->model, m);
	double iter = off * plx_iter_seconds(&job->model, shape, m);

	return (struct plx_sample){ shape, m, pass, fmax(pass, iter) };
}

static size_t any_rows(uint64_t *seed, const struct plx_goodput *job,
		       struct plx_shape here, struct plx_sample *rows)
{
	size_t count = (size_t) any(seed, 0, ROWS_MAX);

	for (size_t i = 0; i < count; i++)
		rows[i] =
			row(job, unit_random(seed) % 2 ? here : any_shape(seed),
			    any(seed, 1, 600), spread(seed, 0.3, 3));
	return count;
}

static void assert_within(const struct plx_limits *limits,
			  struct plx_shape shape, struct plx_batch batch)
{
	double total = (double) shape.gpus * batch.per_gpu * (batch.accum + 1);

	assert_true(batch.accum >= 0);
	assert_true(batch.accum == 0 || limits->accumulate);
	assert_true(batch.per_gpu >= limits->min_per_gpu);
	assert_true(batch.per_gpu <= limits->max_per_gpu);
	assert_true(total <= limits->max_batch);
}

static bool same_batch(struct plx_batch a, struct plx_batch b)
{
	return a.per_gpu == b.per_gpu && a.accum == b.accum;
}

static void the_users_limits_are_never_broken(void **state)
{
	enum { IMPOSSIBLE, POSSIBLE, CORRECTED, ACCUMULATED, WORLDS };
	struct reached reached[WORLDS] = {
		[IMPOSSIBLE] = { "no batch keeps to the limits", 0 },
		[POSSIBLE] = { "some do", 0 },
		[CORRECTED] = { "measurements change the choice", 0 },
		[ACCUMULATED] = { "passes are accumulated", 0 },
	};
	struct plx_sample rows[ROWS_MAX];
	uint64_t seed = 3;

	(void) state;
	for (int i = 0; i < 20000; i++) {
		struct plx_goodput job = any_job(&seed);
		struct plx_shape shape = any_shape(&seed);
		size_t count = any_rows(&seed, &job, shape, rows);
		struct plx_batch batch = { -1, -1 };
		struct plx_batch model = batch;
		double goodput;
		bool possible = plx_batch_best(&job, shape, &model, &goodput);

		assert_int_equal(possible, plx_batch_measured(&job, rows, count,
							      shape, &batch));
		if (!possible) {
			reached[IMPOSSIBLE].times++;
			assert_int_equal(-1, batch.per_gpu);
			continue;
		}
		assert_within(&job.limits, shape, batch);
		reached[POSSIBLE].times++;
		reached[CORRECTED].times += !same_batch(model, batch);
		reached[ACCUMULATED].times += batch.accum > 0;
	}
	assert_all_reached(reached, WORLDS, 500);
}

static void without_rows_it_is_the_models_choice(void **state)
{
	uint64_t seed = 4;
	int compared = 0;

	(void) state;
	for (int i = 0; i < 5000; i++) {
		struct plx_goodput job = any_job(&seed);
		struct plx_shape shape = any_shape(&seed);
		struct plx_batch model;
		struct plx_batch measured;
		double goodput;

		if (!plx_batch_best(&job, shape, &model, &goodput))
			continue;
		assert_true(
			plx_batch_measured(&job, NULL, 0, shape, &measured));
		assert_memory_equal(&model, &measured, sizeof(model));
		compared++;
	}
	assert_true(compared > 1000);
}

/* Nor do rows that say what the model says change much. */
static void a_model_that_is_right_needs_no_correction(void **state)
{
	struct plx_sample rows[8];
	struct plx_shape shape = { 2, 8, 0 };
	struct plx_batch batch;
	double best;

	(void) state;
	for (int i = 0; i < 8; i++)
		rows[i] = row(&usual, shape, 16 << (i % 5), 1);
	assert_true(plx_batch_best(&usual, shape, NULL, &best));
	assert_true(plx_batch_measured(&usual, rows, 8, shape, &batch));
	assert_true(plx_goodput(&usual, shape, batch) >= 0.999 * best);
}

/*
 * A GPU that falls off a cliff: above 64 samples its cache does not do any
 * more, and passes take half as long again. No straight line can say so.
 */
static double cliff(int m)
{
	return m > 64 ? 1.5 : 1;
}

static double true_goodput(struct plx_shape shape, struct plx_batch batch)
{
	return plx_goodput(&usual, shape, batch) / cliff(batch.per_gpu);
}

static void a_truth_that_no_model_can_tell_is_followed(void **state)
{
	static const int sizes[] = { 16, 32, 64, 65, 96, 128, 192, 256 };
	struct plx_sample rows[ARRAY_SIZE(sizes)];
	struct plx_shape shape = { 2, 8, 0 };
	struct plx_goodput job = usual;
	struct plx_batch model;
	struct plx_batch measured;
	double goodput;

	(void) state;
	for (size_t i = 0; i < ARRAY_SIZE(sizes); i++)
		rows[i] = row(&usual, shape, sizes[i], cliff(sizes[i]));
	assert_int_equal(0, plx_fit(rows, ARRAY_SIZE(rows), &job.model, NULL));
	assert_true(plx_batch_best(&job, shape, &model, &goodput));
	assert_true(plx_batch_measured(&job, rows, ARRAY_SIZE(rows), shape,
				       &measured));
	assert_true(true_goodput(shape, measured) >
		    1.02 * true_goodput(shape, model));
}

/* What the choice was made by can be asked for. */
static void measured_goodput_is_that_of_the_rows(void **state)
{
	struct plx_shape shape = { 2, 8, 0 };
	struct plx_batch batch = { 64, 1 };
	struct plx_sample rows[] = { row(&usual, shape, 64, 1.25) };
	double model = plx_goodput(&usual, shape, batch);

	(void) state;
	assert_true(fabs(plx_goodput_measured(&usual, rows, 0, shape, batch) -
			 model) < 1e-9 * model);
	assert_true(fabs(plx_goodput_measured(&usual, rows, 1, shape, batch) -
			 model / 1.25) < 1e-9 * model);
}

/* What the model is off there says nothing of here. */
static void rows_on_other_switches_correct_nothing(void **state)
{
	struct plx_shape here = { 2, 8, 0 };
	struct plx_shape wide = { 2, 8, 1 };
	struct plx_batch batch = { 64, 1 };
	struct plx_sample off = row(&usual, wide, 64, 1);
	double model = plx_goodput(&usual, here, batch);

	(void) state;
	off.iter_seconds *= 1.25;
	assert_float_equal(model,
			   plx_goodput_measured(&usual, &off, 1, here, batch),
			   1e-9 * model);
	assert_true(plx_goodput_measured(&usual, &off, 1, wide, batch) <
		    0.95 * model);
}

static void rows_that_are_no_measurements_do_no_harm(void **state)
{
	static const double bad[] = { NAN, INFINITY, -INFINITY, -1,
				      0,   1e300,    1e-300 };
	struct plx_shape shape = { 2, 8, 0 };
	struct plx_sample rows[2 + ARRAY_SIZE(bad) * ARRAY_SIZE(bad)];
	struct plx_batch clean;
	struct plx_batch dirty;
	size_t count = 2;

	(void) state;
	rows[0] = row(&usual, shape, 32, 1.1);
	rows[1] = row(&usual, shape, 128, 0.9);
	assert_true(plx_batch_measured(&usual, rows, count, shape, &clean));
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		for (size_t j = 0; j < ARRAY_SIZE(bad); j++)
			rows[count++] =
				(struct plx_sample){ shape, (int) (16 + count),
						     bad[i], bad[j] };
	}
	assert_true(plx_batch_measured(&usual, rows, count, shape, &dirty));
	assert_memory_equal(&clean, &dirty, sizeof(clean));
}

/* A rank was suspended while it was measured, or its clock was set. */
static void an_outlier_is_not_believed(void **state)
{
	static const double off[] = { 30, 1 / 30.0 };
	struct plx_shape shape = { 2, 8, 0 };
	struct plx_sample rows[3] = {
		row(&usual, shape, 16, 1.05),
		row(&usual, shape, 200, 1.05),
	};
	struct plx_batch clean;
	struct plx_batch dirty;

	(void) state;
	assert_true(plx_batch_measured(&usual, rows, 2, shape, &clean));
	for (size_t i = 0; i < ARRAY_SIZE(off); i++) {
		rows[2] = row(&usual, shape, clean.per_gpu + (i ? 30 : 0),
			      off[i]);
		assert_true(plx_batch_measured(&usual, rows, 3, shape, &dirty));
		assert_memory_equal(&clean, &dirty, sizeof(clean));
	}
}

/* Where no two of them have the same batch a GPU. */
static void the_order_of_rows_is_of_no_importance(void **state)
{
	struct plx_sample rows[ROWS_MAX];
	uint64_t seed = 8;
	int corrected = 0;

	(void) state;
	for (int round = 0; round < 2000; round++) {
		struct plx_goodput job = any_job(&seed);
		struct plx_shape shape = any_shape(&seed);
		size_t count = any_rows(&seed, &job, shape, rows);
		struct plx_batch one;
		struct plx_batch other;
		struct plx_batch model;
		double goodput;

		for (size_t i = 0; i < count; i++)
			rows[i].per_gpu = (int) (9 * i + 1);
		if (!plx_batch_measured(&job, rows, count, shape, &one))
			continue;
		for (size_t i = count; i > 1; i--) {
			size_t k = unit_random(&seed) % i;
			struct plx_sample moved = rows[k];

			rows[k] = rows[i - 1];
			rows[i - 1] = moved;
		}
		assert_true(
			plx_batch_measured(&job, rows, count, shape, &other));
		assert_memory_equal(&one, &other, sizeof(one));
		assert_true(plx_batch_best(&job, shape, &model, &goodput));
		corrected += !same_batch(model, one);
	}
	assert_true(corrected > 200);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_users_limits_are_never_broken),
		cmocka_unit_test(without_rows_it_is_the_models_choice),
		cmocka_unit_test(a_model_that_is_right_needs_no_correction),
		cmocka_unit_test(a_truth_that_no_model_can_tell_is_followed),
		cmocka_unit_test(measured_goodput_is_that_of_the_rows),
		cmocka_unit_test(rows_on_other_switches_correct_nothing),
		cmocka_unit_test(rows_that_are_no_measurements_do_no_harm),
		cmocka_unit_test(an_outlier_is_not_believed),
		cmocka_unit_test(the_order_of_rows_is_of_no_importance),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
