/* SPDX-License-Identifier: MIT */
/*
 * test_switch_model.c - what further switches cost a job, by what it measured
 */
#include <math.h>
#include <string.h>

#include "core/model/fit_loss.h"
#include "reference.h"

enum { ROWS_MAX = 64 };

/* An all-reduce takes three times as long on two switches. */
static const struct plx_model truth = {
	.alpha_c = 0.05,
	.beta_c = 0.002,
	.alpha_n = 0.12,
	.beta_n = 0.02,
	.alpha_r = 0.03,
	.beta_r = 0.01,
	.gamma = 1.6,
	.two_nodes = 0.4,
	.growth = PLX_BY_DOUBLING,
	.per_switch = 2,
};

static const struct plx_shape on_one[] = {
	{ 1, 1, 0 }, { 1, 4, 0 }, { 2, 8, 0 }, { 3, 12, 0 }, { 4, 16, 0 },
};
static const struct plx_shape on_two[] = {
	{ 1, 1, 0 }, { 1, 4, 0 }, { 2, 8, 1 }, { 3, 12, 1 }, { 4, 16, 1 },
};
/* As a job grows, the second switch comes with more GPUs. */
static const struct plx_shape growing[] = {
	{ 1, 1, 0 },
	{ 1, 4, 0 },
	{ 2, 8, 0 },
	{ 4, 16, 1 },
};

static size_t measure(const struct plx_model *model,
		      const struct plx_shape *shapes, size_t shape_count,
		      struct plx_sample *rows)
{
	size_t count = 0;

	for (size_t s = 0; s < shape_count; s++) {
		for (int m = 16; m <= 64; m *= 2)
			rows[count++] = (struct plx_sample){
				.shape = shapes[s],
				.per_gpu = m,
				.pass_seconds = plx_grad_seconds(model, m),
				.iter_seconds =
					plx_iter_seconds(model, shapes[s], m),
			};
	}
	return count;
}

static struct plx_model fitted(enum plx_growth growth,
			       const struct plx_sample *rows, size_t count)
{
	struct plx_model model = { .growth = growth };
	struct plx_error err;

	assert_int_equal(0, plx_fit_from(&model, rows, count, &model, &err));
	return model;
}

static double iter(const struct plx_model *model, struct plx_shape shape)
{
	return plx_iter_seconds(model, shape, 32);
}

static void each_further_switch_takes_as_long_again(void **state)
{
	double one = plx_sync_seconds(&truth, (struct plx_shape){ 3, 12, 0 });

	(void) state;
	for (int further = 1; further <= PLX_FURTHER_MAX; further++)
		assert_near(
			one * (1 + 2 * further),
			plx_sync_seconds(&truth,
					 (struct plx_shape){ 3, 12, further }),
			1e-9);
	/* Of one node there is one switch. */
	assert_true(plx_sync_seconds(&truth, (struct plx_shape){ 1, 4, 1 }) ==
		    plx_sync_seconds(&truth, (struct plx_shape){ 1, 4, 0 }));
}

static void it_is_known_where_a_job_was_on_one_and_on_two(void **state)
{
	struct plx_sample rows[ROWS_MAX];
	size_t count = measure(&truth, on_one, ARRAY_SIZE(on_one), rows);
	struct plx_model model;

	(void) state;
	count += measure(&truth, on_two + 2, 3, rows + count);
	model = fitted(PLX_BY_DOUBLING, rows, count);
	assert_near(2, model.per_switch, 0.1);
	assert_int_equal(0, model.further);
	for (size_t i = 0; i < count; i++)
		assert_near(rows[i].iter_seconds,
			    plx_iter_seconds(&model, rows[i].shape,
					     rows[i].per_gpu),
			    0.02);
	/* And what was never run is foreseen. */
	assert_near(iter(&truth, (struct plx_shape){ 6, 24, 2 }),
		    iter(&model, (struct plx_shape){ 6, 24, 2 }), 0.05);
}

/* Growth by doublings cannot take so much upon itself. */
static void it_is_known_of_a_job_that_grew_onto_the_second(void **state)
{
	struct plx_sample rows[ROWS_MAX];
	size_t count = measure(&truth, growing, ARRAY_SIZE(growing), rows);
	struct plx_model model = fitted(PLX_BY_DOUBLING, rows, count);

	(void) state;
	print_message("# 3 times as long on two switches, found: %.2f times\n",
		      1 + model.per_switch);
	assert_true(model.per_switch > 0.8);
	assert_near(iter(&truth, growing[3]), iter(&model, growing[3]), 0.03);
	assert_near(iter(&truth, on_one[4]), iter(&model, on_one[4]), 0.3);
}

static void of_a_job_that_does_not_care_it_is_little(void **state)
{
	struct plx_sample rows[ROWS_MAX];
	struct plx_model calm = truth;
	struct plx_model model;
	size_t count;

	(void) state;
	calm.per_switch = 0;
	count = measure(&calm, growing, ARRAY_SIZE(growing), rows);
	model = fitted(PLX_BY_DOUBLING, rows, count);
	assert_true(model.per_switch > 0 && model.per_switch < 0.15);
	/* Faster there it cannot be. */
	calm = truth;
	calm.alpha_n /= 2;
	count = measure(&truth, on_one, ARRAY_SIZE(on_one), rows);
	calm.per_switch = 0;
	count += measure(&calm, on_two + 2, 3, rows + count);
	model = fitted(PLX_BY_DOUBLING, rows, count);
	assert_true(model.per_switch > 0 && model.per_switch < 0.01);
}

/* Its model is of two then, and says so; nothing is known of one. */
static void a_job_that_was_on_two_alone_knows_nothing_of_it(void **state)
{
	struct plx_sample rows[ROWS_MAX];
	size_t count = measure(&truth, on_two, ARRAY_SIZE(on_two), rows);
	struct plx_model model = fitted(PLX_BY_DOUBLING, rows, count);

	(void) state;
	assert_true(model.per_switch == 0);
	assert_int_equal(1, model.further);
	for (size_t i = 0; i < ARRAY_SIZE(on_two); i++) {
		assert_near(iter(&truth, on_two[i]), iter(&model, on_two[i]),
			    0.02);
		assert_true(iter(&model, on_one[i]) == iter(&model, on_two[i]));
	}
	count = measure(&truth, on_one, ARRAY_SIZE(on_one), rows);
	model = fitted(PLX_BY_DOUBLING, rows, count);
	assert_true(model.per_switch == 0);
	assert_int_equal(0, model.further);
}

static void rows_on_no_number_of_switches_are_left_out(void **state)
{
	struct plx_sample rows[ROWS_MAX];
	size_t count = measure(&truth, on_one, ARRAY_SIZE(on_one), rows);
	struct plx_model before = fitted(PLX_BY_DOUBLING, rows, count);
	struct plx_model model;

	(void) state;
	rows[count] = rows[count - 1];
	rows[count].iter_seconds *= 3;
	for (int further = -1; further <= PLX_FURTHER_MAX + 1;
	     further += PLX_FURTHER_MAX + 2) {
		rows[count].shape.further = further;
		assert_false(plx_fit_usable(&rows[count]));
		model = fitted(PLX_BY_DOUBLING, rows, count + 1);
		assert_memory_equal(&before, &model, sizeof(model));
	}
}

/* Else the descent would go astray, or slowly. */
static void the_loss_slopes_as_it_says(void **state)
{
	const double parts[PLX_FIT_PARTS] = { 0.06,  0.0015, 0.2,  0.01, 0.02,
					      0.015, 2.1,    0.25, 0.7 };
	const struct plx_fit_rows in = { .count = 0 };
	struct plx_sample rows[ROWS_MAX];
	struct plx_fit_rows all = in;
	struct plx_fit_table table;
	struct plx_fit_point point;

	(void) state;
	all.growth = PLX_BY_DOUBLING;
	all.rows = rows;
	all.count = measure(&truth, on_one, ARRAY_SIZE(on_one), rows);
	all.count += measure(&truth, on_two + 2, 3, rows + all.count);
	rows[all.count - 1].shape.further = 3;
	assert_int_equal(0, plx_fit_table_init(&table, &all, NULL));
	plx_fit_look(&table, parts, &point);
	for (int i = 0; i < PLX_FIT_PARTS; i++) {
		double step = 1e-6 * parts[i];
		double x[PLX_FIT_PARTS];
		struct plx_fit_point up;
		struct plx_fit_point down;

		memcpy(x, parts, sizeof(x));
		x[i] = parts[i] + step;
		plx_fit_look(&table, x, &up);
		x[i] = parts[i] - step;
		plx_fit_look(&table, x, &down);
		assert_near((up.loss - down.loss) / (2 * step), point.slope[i],
			    1e-4);
	}
	plx_fit_table_release(&table);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_further_switch_takes_as_long_again),
		cmocka_unit_test(it_is_known_where_a_job_was_on_one_and_on_two),
		cmocka_unit_test(
			it_is_known_of_a_job_that_grew_onto_the_second),
		cmocka_unit_test(of_a_job_that_does_not_care_it_is_little),
		cmocka_unit_test(
			a_job_that_was_on_two_alone_knows_nothing_of_it),
		cmocka_unit_test(rows_on_no_number_of_switches_are_left_out),
		cmocka_unit_test(the_loss_slopes_as_it_says),
	};

	return cmocka_run_group_tests_name("switch model", tests, NULL, NULL);
}
