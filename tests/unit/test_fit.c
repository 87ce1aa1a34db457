/* SPDX-License-Identifier: MIT */
/* test_fit.c - the step model that explains measured times */

#include <math.h>
#include <string.h>

#include "core/model/fit.h"
#include "reached.h"
#include "reference.h"

#define MODEL_SIZE offsetof(struct plx_model, growth) /* no padding */

enum { ROWS_MAX = 128, RANDOM_MODELS = 300 };

static const struct plx_model truth = {
	.alpha_c = 0.05,
	.beta_c = 0.002,
	.alpha_n = 0.12,
	.beta_n = 0.004,
	.alpha_r = 0.03,
	.beta_r = 0.001,
	.gamma = 1.6,
};

/* Every term shows in one of these. */
static const struct plx_shape shapes[] = {
	{ 1, 1, 0 }, { 1, 2, 0 }, { 1, 4, 0 },	{ 1, 8, 0 },
	{ 2, 2, 0 }, { 2, 8, 0 }, { 4, 16, 0 },
};
static const int sizes[] = { 16, 64, 256 };

/* What a job would measure that behaves as the model says. */
static struct plx_sample measured(const struct plx_model *model,
				  struct plx_shape shape, int per_gpu)
{
	return (struct plx_sample){
		.shape = shape,
		.per_gpu = per_gpu,
		.pass_seconds = plx_grad_seconds(model, per_gpu),
		.iter_seconds = plx_iter_seconds(model, shape, per_gpu),
	};
}

static size_t measure_all(const struct plx_model *model,
			  struct plx_sample *rows)
{
	size_t count = 0;

	for (size_t s = 0; s < ARRAY_SIZE(shapes); s++) {
		for (size_t m = 0; m < ARRAY_SIZE(sizes); m++)
			rows[count++] = measured(model, shapes[s], sizes[m]);
	}
	return count;
}

static bool sound(const struct plx_model *model)
{
	const struct plx_goodput job = {
		.model = *model,
		.noise = { 1, 1 },
		.limits = { 1, 1, 1, 1, false },
	};

	return plx_goodput_valid(&job);
}

static void measured_times_give_the_model_back(void **state)
{
	struct plx_sample rows[ROWS_MAX];
	size_t count = measure_all(&truth, rows);
	struct plx_model model;
	struct plx_error err;

	(void) state;
	assert_int_equal(0, plx_fit(rows, count, &model, &err));
	assert_true(plx_fit_loss(&model, rows, count) <=
		    plx_fit_loss(&truth, rows, count) * 1.02);
	for (size_t i = 0; i < count; i++) {
		const struct plx_sample *row = &rows[i];

		assert_near(row->pass_seconds,
			    plx_grad_seconds(&model, row->per_gpu), 0.01);
		assert_near(row->iter_seconds,
			    plx_iter_seconds(&model, row->shape, row->per_gpu),
			    0.01);
	}
	/* And what was never run is foreseen. */
	assert_near(
		plx_iter_seconds(&truth, (struct plx_shape){ 8, 32, 0 }, 128),
		plx_iter_seconds(&model, (struct plx_shape){ 8, 32, 0 }, 128),
		0.02);
}

static double spread(uint64_t *seed, double low, double high)
{
	return exp(unit_uniform(seed, log(low), log(high)));
}

static struct plx_model random_model(uint64_t *seed)
{
	return (struct plx_model){
		.alpha_c = spread(seed, 1e-3, 1),
		.beta_c = spread(seed, 1e-5, 1e-1),
		.alpha_n = spread(seed, 1e-3, 1),
		.beta_n = spread(seed, 1e-5, 1e-2),
		.alpha_r = spread(seed, 1e-3, 1),
		.beta_r = spread(seed, 1e-5, 1e-2),
		.gamma = unit_uniform(seed, 1, 10),
	};
}

static void no_model_explains_its_own_times_better(void **state)
{
	struct plx_sample rows[ROWS_MAX];
	uint64_t seed = 3;

	(void) state;
	for (int i = 0; i < RANDOM_MODELS; i++) {
		struct plx_model own = random_model(&seed);
		struct plx_model model;
		size_t count = measure_all(&own, rows);
		struct plx_error err;

		assert_int_equal(0, plx_fit(rows, count, &model, &err));
		assert_true(sound(&model));
		assert_true(plx_fit_loss(&model, rows, count) <=
			    plx_fit_loss(&own, rows, count) * 1.02 + 1e-4);
	}
}

static void noise_is_smoothed_not_followed(void **state)
{
	struct plx_sample rows[ROWS_MAX];
	size_t count = measure_all(&truth, rows);
	uint64_t seed = 4;
	struct plx_model model;
	struct plx_error err;

	(void) state;
	for (size_t i = 0; i < count; i++) {
		rows[i].pass_seconds *= unit_uniform(&seed, 0.95, 1.05);
		rows[i].iter_seconds *= unit_uniform(&seed, 0.95, 1.05);
	}
	assert_int_equal(0, plx_fit(rows, count, &model, &err));
	for (size_t i = 0; i < count; i++)
		assert_near(plx_iter_seconds(&truth, rows[i].shape,
					     rows[i].per_gpu),
			    plx_iter_seconds(&model, rows[i].shape,
					     rows[i].per_gpu),
			    0.05);
}

/* A job on its first GPU should look as if more GPUs were free of cost. */
static void what_was_never_seen_looks_cheap(void **state)
{
	const struct plx_sample row =
		measured(&truth, (struct plx_shape){ 1, 1, 0 }, 64);
	struct plx_model model;
	struct plx_error err;

	(void) state;
	assert_int_equal(0, plx_fit(&row, 1, &model, &err));
	assert_near(row.pass_seconds, plx_grad_seconds(&model, 64), 1e-4);
	assert_near(row.pass_seconds / 2, model.alpha_c, 1e-9);
	assert_true(plx_sync_seconds(&model, (struct plx_shape){ 1, 8, 0 }) <
		    1e-6);
	assert_true(plx_sync_seconds(&model, (struct plx_shape){ 4, 16, 0 }) <
		    1e-6);
}

static void nodes_never_seen_are_a_little_slower_than_one(void **state)
{
	struct plx_sample rows[4];
	struct plx_model model;
	struct plx_error err;

	(void) state;
	for (int i = 0; i < 4; i++)
		rows[i] = measured(&truth, shapes[i], 16 + 16 * i);
	assert_int_equal(0, plx_fit(rows, 4, &model, &err));
	assert_true(model.alpha_n >= 1.09 * model.alpha_r);
	assert_true(model.beta_n >= 1.09 * model.beta_r);
	assert_true(model.alpha_n <= 1.11 * model.alpha_r + 1e-7);
}

static void rows_that_are_no_measurement_are_left_out(void **state)
{
	const double bad[] = { NAN, INFINITY, -INFINITY, 0, -1, 1e300, 1e-300 };
	struct plx_sample rows[ROWS_MAX];
	struct plx_sample *odd;
	size_t count = measure_all(&truth, rows);
	size_t good = count;
	struct plx_model want;
	struct plx_model model;
	struct plx_error err;

	(void) state;
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		odd = &rows[count++];
		*odd = rows[i];
		odd->pass_seconds = bad[i];
		odd = &rows[count++];
		*odd = rows[i];
		odd->iter_seconds = bad[i];
	}
	rows[count] = rows[0];
	rows[count++].per_gpu = 0;
	rows[count] = rows[0];
	rows[count++].shape = (struct plx_shape){ 4, 2, 0 };
	assert_int_equal(0, plx_fit(rows, good, &want, &err));
	assert_int_equal(0, plx_fit(rows, count, &model, &err));
	assert_memory_equal(&want, &model, MODEL_SIZE);
}

static void without_a_usable_row_the_model_stays(void **state)
{
	struct plx_sample row = { .shape = { 1, 1 }, .per_gpu = 1 };
	struct plx_model model = truth;
	struct plx_error err = { .text = "" };

	(void) state;
	row.pass_seconds = row.iter_seconds = NAN;
	assert_int_equal(-1, plx_fit(&row, 1, &model, &err));
	assert_string_equal("no usable measurement among 1", err.text);
	assert_int_equal(-1, plx_fit(NULL, 0, &model, NULL));
	assert_memory_equal(&truth, &model, MODEL_SIZE);
}

/* Times that no model explains: the answer is poor but sound. */
static void odd_times_give_a_sound_model(void **state)
{
	const double times[] = { 1e-9, 1e-3, 1, 1e5 };
	enum { ONE_GPU, ONE_NODE, NODES, IDLE_SYNC, KINDS };
	struct reached reached[KINDS] = {
		[ONE_GPU] = { "all measured on one GPU", 0 },
		[ONE_NODE] = { "on one node, some on several GPUs", 0 },
		[NODES] = { "some on several nodes", 0 },
		[IDLE_SYNC] = { "a pass longer than its iteration", 0 },
	};
	struct plx_sample rows[ROWS_MAX];
	uint64_t seed = 9;
	struct plx_model model;
	struct plx_error err;

	(void) state;
	for (int trial = 0; trial < 200; trial++) {
		size_t count = 1 + unit_random(&seed) % 20;
		int kind = ONE_GPU;

		for (size_t i = 0; i < count; i++) {
			rows[i] = (struct plx_sample){
				.shape = shapes[unit_random(&seed) % 7],
				.per_gpu = sizes[unit_random(&seed) % 3],
				.pass_seconds = times[unit_random(&seed) % 4],
				.iter_seconds = times[unit_random(&seed) % 4],
			};
			if (rows[i].shape.nodes > 1)
				kind = NODES;
			else if (rows[i].shape.gpus > 1 && kind == ONE_GPU)
				kind = ONE_NODE;
			reached[IDLE_SYNC].times +=
				rows[i].pass_seconds > rows[i].iter_seconds;
		}
		reached[kind].times++;
		assert_int_equal(0, plx_fit(rows, count, &model, &err));
		assert_true(sound(&model));
		assert_true(isfinite(plx_fit_loss(&model, rows, count)));
	}
	assert_all_reached(reached, KINDS, 3);
}

static void equal_times_are_a_fixed_cost(void **state)
{
	struct plx_sample rows[ROWS_MAX];
	size_t count = measure_all(&truth, rows);
	struct plx_model model;
	struct plx_error err;

	(void) state;
	for (size_t i = 0; i < count; i++)
		rows[i].pass_seconds = rows[i].iter_seconds = 0.25;
	assert_int_equal(0, plx_fit(rows, count, &model, &err));
	assert_true(sound(&model));
	assert_near(0.25, model.alpha_c, 0.01);
	assert_near(0.25, plx_iter_seconds(&model, shapes[6], 256), 0.02);
}

static void an_all_reduce_of_no_time_is_fitted(void **state)
{
	struct plx_sample rows[ROWS_MAX];
	size_t count = measure_all(&truth, rows);
	struct plx_model model;
	struct plx_error err;

	(void) state;
	for (size_t i = 0; i < count; i++)
		rows[i].iter_seconds = rows[i].pass_seconds;
	assert_int_equal(0, plx_fit(rows, count, &model, &err));
	assert_true(sound(&model));
	for (size_t i = 0; i < count; i++)
		assert_near(rows[i].iter_seconds,
			    plx_iter_seconds(&model, rows[i].shape,
					     rows[i].per_gpu),
			    0.02);
}

/* Each row in turn a hundred times too slow: a rank was suspended. */
static void suspend_each(size_t count)
{
	struct plx_sample rows[ROWS_MAX];
	struct plx_model want;
	struct plx_model model;
	struct plx_error err;

	assert_true(measure_all(&truth, rows) >= count);
	assert_int_equal(0, plx_fit(rows, count, &want, &err));
	for (size_t i = 0; i < 2 * count; i++) {
		struct plx_sample *row = &rows[i / 2];
		struct plx_sample kept = *row;

		row->iter_seconds *= 100;
		if (i % 2)
			row->pass_seconds *= 100;
		assert_int_equal(0, plx_fit(rows, count, &model, &err));
		*row = kept;
		for (size_t k = 0; k < count; k++)
			assert_near(plx_iter_seconds(&want, rows[k].shape,
						     rows[k].per_gpu),
				    plx_iter_seconds(&model, rows[k].shape,
						     rows[k].per_gpu),
				    0.02);
	}
}

static void a_suspended_rank_does_not_ruin_the_model(void **state)
{
	(void) state;
	suspend_each(21); /* all */
	suspend_each(9);  /* of 1, 2 and 4 GPUs */
}

static void a_fifth_of_the_rows_may_be_outliers(void **state)
{
	struct plx_sample rows[ROWS_MAX];
	size_t count = measure_all(&truth, rows);
	struct plx_model model;
	struct plx_error err;

	(void) state;
	for (size_t i = 0; i < count; i += 5) {
		rows[i].pass_seconds *= i % 2 ? 30 : 0.01;
		rows[i].iter_seconds *= i % 2 ? 50 : 0.02;
	}
	assert_int_equal(0, plx_fit(rows, count, &model, &err));
	for (size_t i = 0; i < ARRAY_SIZE(shapes); i++)
		assert_near(plx_iter_seconds(&truth, shapes[i], 64),
			    plx_iter_seconds(&model, shapes[i], 64), 0.02);
}

/* One row more at a time, as a job measures; a tenth of noise. */
static void a_warm_fit_is_as_good_as_a_cold_one(void **state)
{
	struct plx_sample rows[ROWS_MAX];
	uint64_t seed = 5;
	struct plx_error err;

	(void) state;
	for (int i = 0; i < RANDOM_MODELS; i++) {
		struct plx_model own = random_model(&seed);
		struct plx_model warm = { 0 };
		struct plx_model cold;
		size_t count = measure_all(&own, rows);

		for (size_t n = 1; n <= count; n++) {
			struct plx_sample *row = &rows[n - 1];

			row->pass_seconds *= unit_uniform(&seed, 0.95, 1.05);
			row->iter_seconds *= unit_uniform(&seed, 0.95, 1.05);
			assert_int_equal(0, plx_fit_from(&warm, rows, n, &warm,
							 &err));
			assert_true(sound(&warm));
		}
		assert_int_equal(0, plx_fit(rows, count, &cold, &err));
		assert_true(plx_fit_loss(&warm, rows, count) <=
			    plx_fit_loss(&cold, rows, count) * 1.02 + 1e-4);
	}
}

static void a_useless_start_does_no_harm(void **state)
{
	const struct plx_model starts[] = {
		{ 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0 },
		{ 1e9, 1e9, 1e9, 1e9, 1e9, 1e9, 10, 1e9, 0, 0, 1e9 },
		{ NAN, NAN, NAN, NAN, NAN, NAN, NAN, NAN, 0, 0, NAN },
		{ -1, -1, -1, -1, -1, -1, -1, -1, 0, 0, -1 },
		{ INFINITY, INFINITY, INFINITY, INFINITY, INFINITY, INFINITY,
		  INFINITY, INFINITY, 0, 0, INFINITY },
	};
	struct plx_sample rows[ROWS_MAX];
	size_t count = measure_all(&truth, rows);
	struct plx_error err;

	(void) state;
	for (size_t i = 0; i < ARRAY_SIZE(starts); i++) {
		struct plx_model model;

		assert_int_equal(0, plx_fit_from(&starts[i], rows, count,
						 &model, &err));
		assert_true(sound(&model));
		assert_near(plx_iter_seconds(&truth, shapes[6], 64),
			    plx_iter_seconds(&model, shapes[6], 64), 0.02);
	}
}

static size_t recorded_rows(const json_t *c, struct plx_sample *rows)
{
	size_t count = json_array_size(json_object_get(c, "num_nodes"));

	assert_true(count <= ROWS_MAX);
	for (size_t i = 0; i < count; i++)
		rows[i] = (struct plx_sample){
			.shape = { reference_at(c, "num_nodes", i),
				   reference_at(c, "num_replicas", i) },
			.per_gpu = reference_at(c, "atomic_bsz", i),
			.pass_seconds = reference_at(c, "accum_step_time", i),
			.iter_seconds = reference_at(c, "optim_step_time", i),
		};
	return count;
}

static bool is_held(const json_t *c, const char *part)
{
	size_t i;
	json_t *held;

	json_array_foreach(json_object_get(c, "fixed"), i, held)
	{
		if (!strcmp(json_string_value(held), part))
			return true;
	}
	return false;
}

/* The loss as the recorded ones are: before what was held was raised. */
static double loss_before_prior(const json_t *c, struct plx_model model,
				const struct plx_sample *rows, size_t count)
{
	if (is_held(c, "alpha_n"))
		model.alpha_n = 1e-8;
	if (is_held(c, "beta_n"))
		model.beta_n = 1e-8;
	return plx_fit_loss(&model, rows, count);
}

/* Returns our loss over the best known. */
static double judge_case(const json_t *c)
{
	struct plx_sample rows[ROWS_MAX];
	size_t count = recorded_rows(c, rows);
	double best =
		reference_number(json_object_get(c, "best_known"), "loss");
	struct plx_model theirs = reference_model(json_object_get(c, "fitted"));
	struct plx_model ours;
	struct plx_error err;
	double loss;

	assert_near(reference_number(c, "loss_fitted"),
		    plx_fit_loss(&theirs, rows, count), 1e-9);
	assert_int_equal(0, plx_fit(rows, count, &ours, &err));
	loss = loss_before_prior(c, ours, rows, count);
	assert_true(loss <= best * 1.02);
	assert_true(loss <= reference_number(c, "loss_fitted_before_prior") *
				    (1 + 1e-9));
	return loss / best;
}

static void no_published_fit_is_better(void **state)
{
	json_t *root = reference_load("fit_perf_params_osdi.json");
	double worst = 0;
	size_t i;
	json_t *c;

	(void) state;
	json_array_foreach(json_object_get(root, "cases"), i, c) worst =
		fmax(worst, judge_case(c));
	print_message("# %zu fits, at worst %.6f of the best known loss\n", i,
		      worst);
	assert_true(i > 0);
	json_decref(root);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(measured_times_give_the_model_back),
		cmocka_unit_test(no_model_explains_its_own_times_better),
		cmocka_unit_test(noise_is_smoothed_not_followed),
		cmocka_unit_test(what_was_never_seen_looks_cheap),
		cmocka_unit_test(nodes_never_seen_are_a_little_slower_than_one),
		cmocka_unit_test(rows_that_are_no_measurement_are_left_out),
		cmocka_unit_test(without_a_usable_row_the_model_stays),
		cmocka_unit_test(odd_times_give_a_sound_model),
		cmocka_unit_test(equal_times_are_a_fixed_cost),
		cmocka_unit_test(an_all_reduce_of_no_time_is_fitted),
		cmocka_unit_test(a_suspended_rank_does_not_ruin_the_model),
		cmocka_unit_test(a_fifth_of_the_rows_may_be_outliers),
		cmocka_unit_test(a_warm_fit_is_as_good_as_a_cold_one),
		cmocka_unit_test(a_useless_start_does_no_harm),
		cmocka_unit_test(no_published_fit_is_better),
	};

	return _cmocka_run_group_tests("fit", tests,
				       reference_runnable(ARRAY_SIZE(tests), 1),
				       NULL, NULL);
}
