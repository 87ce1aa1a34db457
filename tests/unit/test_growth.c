/* SPDX-License-Identifier: MIT */
/*
 * test_growth.c - a model whose all-reduce grows by doublings, and takes
 * longer over two nodes than over more
 */
#include <math.h>
#include <string.h>

#include "core/model/fit.h"
#include "core/records/hint.h"
#include "reference.h"

enum { ROWS_MAX = 128 };

static const struct plx_model truth = {
	.alpha_c = 0.05,
	.beta_c = 0.002,
	.alpha_n = 0.12,
	.beta_n = 0.04,
	.alpha_r = 0.03,
	.beta_r = 0.01,
	.gamma = 1.6,
	.two_nodes = 0.7,
	.growth = PLX_BY_DOUBLING,
};

static const struct plx_shape shapes[] = {
	{ 1, 1, 0 }, { 1, 2, 0 }, { 1, 4, 0 },	{ 2, 2, 0 },
	{ 2, 8, 0 }, { 3, 8, 0 }, { 4, 16, 0 }, { 8, 16, 0 },
};

static size_t measure(size_t from, size_t to, struct plx_sample *rows)
{
	size_t count = 0;

	for (size_t s = from; s < to; s++) {
		for (int m = 16; m <= 256; m *= 2)
			rows[count++] = (struct plx_sample){
				.shape = shapes[s],
				.per_gpu = m,
				.pass_seconds = plx_grad_seconds(&truth, m),
				.iter_seconds =
					plx_iter_seconds(&truth, shapes[s], m),
			};
	}
	return count;
}

static struct plx_model fitted(const struct plx_sample *rows, size_t count)
{
	struct plx_model model = { .growth = PLX_BY_DOUBLING };
	struct plx_error err;

	assert_int_equal(0, plx_fit_from(&model, rows, count, &model, &err));
	assert_int_equal(PLX_BY_DOUBLING, model.growth);
	return model;
}

static void a_doubling_costs_the_same_at_any_scale(void **state)
{
	(void) state;
	for (int gpus = 4; gpus <= 64; gpus *= 2)
		assert_near(0.04,
			    plx_sync_seconds(&truth,
					     (struct plx_shape){ 4, gpus, 0 }) -
				    plx_sync_seconds(&truth,
						     (struct plx_shape){
							     4, gpus / 2, 0 }),
			    1e-6);
}

static void two_nodes_take_longer_than_three(void **state)
{
	(void) state;
	assert_near(1.7,
		    plx_sync_seconds(&truth, (struct plx_shape){ 2, 8, 0 }) /
			    plx_sync_seconds(&truth,
					     (struct plx_shape){ 3, 8, 0 }),
		    1e-9);
}

static void measured_times_give_the_model_back(void **state)
{
	struct plx_sample rows[ROWS_MAX];
	size_t count = measure(0, ARRAY_SIZE(shapes), rows);
	struct plx_model model = fitted(rows, count);

	(void) state;
	for (size_t i = 0; i < count; i++)
		assert_near(rows[i].iter_seconds,
			    plx_iter_seconds(&model, rows[i].shape,
					     rows[i].per_gpu),
			    0.01);
	assert_near(0.7, model.two_nodes, 0.05);
	/* And what was never run is foreseen. */
	assert_near(
		plx_iter_seconds(&truth, (struct plx_shape){ 16, 64, 0 }, 128),
		plx_iter_seconds(&model, (struct plx_shape){ 16, 64, 0 }, 128),
		0.02);
}

/* Of two nodes alone, three are expected to be as others' are. */
static void what_two_nodes_cost_is_presumed(void **state)
{
	struct plx_sample rows[ROWS_MAX];
	size_t count = measure(0, 5, rows);
	struct plx_model model = fitted(rows, count);

	(void) state;
	assert_near(0.5, model.two_nodes, 0.05);
}

static void the_papers_model_has_no_such_part(void **state)
{
	struct plx_sample rows[ROWS_MAX];
	size_t count = measure(0, ARRAY_SIZE(shapes), rows);
	struct plx_model model = { .two_nodes = 3 };
	struct plx_error err;

	(void) state;
	assert_int_equal(0, plx_fit(rows, count, &model, &err));
	assert_int_equal(PLX_BY_GPU, model.growth);
	assert_true(model.two_nodes == 0);
}

static struct plx_hint hint_of(const struct plx_model *model)
{
	return (struct plx_hint){
		.job = { .model = *model,
			 .noise = { 1, 1 },
			 .limits = { 128, 4096, 1, 1024, true } },
		.profiled = { 1, 1 },
		.now = { 1, 0 },
	};
}

static void a_hint_carries_it(void **state)
{
	struct plx_hint sent = hint_of(&truth);
	struct plx_hint got;
	struct plx_writer w;
	struct plx_error err;
	char fields[PLX_FIELDS_MAX];

	(void) state;
	plx_writer_init(&w, fields, sizeof(fields));
	plx_hint_write(&w, &sent);
	assert_int_equal(1, plx_hint_read(fields, &got, &err));
	assert_int_equal(PLX_BY_DOUBLING, got.job.model.growth);
	assert_near(0.7, got.job.model.two_nodes, 1e-5);
	/* Without the field it is the paper's: a hint of older days. */
	memcpy(strstr(fields, "sync="), "cync=", 5);
	assert_int_equal(1, plx_hint_read(fields, &got, &err));
	assert_int_equal(PLX_BY_GPU, got.job.model.growth);
	assert_true(got.job.model.two_nodes == 0);
}

static void a_hint_of_an_unknown_growth_is_refused(void **state)
{
	struct plx_hint sent = hint_of(&truth);
	struct plx_hint got;
	struct plx_writer w;
	struct plx_error err;
	char fields[PLX_FIELDS_MAX];

	(void) state;
	plx_writer_init(&w, fields, sizeof(fields));
	plx_hint_write(&w, &sent);
	strstr(fields, "sync=1")[5] = '2';
	assert_int_equal(-1, plx_hint_read(fields, &got, &err));
	assert_string_equal("sync: growth is 0 or 1", err.text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_doubling_costs_the_same_at_any_scale),
		cmocka_unit_test(two_nodes_take_longer_than_three),
		cmocka_unit_test(measured_times_give_the_model_back),
		cmocka_unit_test(what_two_nodes_cost_is_presumed),
		cmocka_unit_test(the_papers_model_has_no_such_part),
		cmocka_unit_test(a_hint_carries_it),
		cmocka_unit_test(a_hint_of_an_unknown_growth_is_refused),
	};

	return cmocka_run_group_tests_name("growth", tests, NULL, NULL);
}
