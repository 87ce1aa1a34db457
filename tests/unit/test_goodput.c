/* SPDX-License-Identifier: MIT */
/* test_goodput.c - the goodput model, and the best batch on a shape */

#include <math.h>

#include "reached.h"
#include "reference.h"

enum { RANDOM_PROBLEMS = 5000, EXHAUSTIVE_PROBLEMS = 3000 };

static const struct plx_goodput job = {
	.model = { .alpha_c = 0.1,
		   .beta_c = 0.01,
		   .alpha_n = 0.2,
		   .beta_n = 0.01,
		   .alpha_r = 0.05,
		   .beta_r = 0.002,
		   .gamma = 1.5 },
	.noise = { .sqr = 1, .var = 10 },
	.limits = { .base_batch = 128,
		    .max_batch = 4096,
		    .min_per_gpu = 8,
		    .max_per_gpu = 256,
		    .accumulate = true },
};

static struct plx_shape on(int nodes, int gpus)
{
	return (struct plx_shape){ .nodes = nodes, .gpus = gpus };
}

static long total(struct plx_shape shape, struct plx_batch b)
{
	return (long) shape.gpus * b.per_gpu * (b.accum + 1);
}

static bool per_gpu_allowed(const struct plx_limits *l, struct plx_batch b)
{
	return b.per_gpu >= l->min_per_gpu && b.per_gpu <= l->max_per_gpu &&
	       b.accum >= 0 && (l->accumulate || b.accum == 0);
}

/* Within all limits, and with two gradients on a single GPU. */
static bool allowed(const struct plx_limits *l, struct plx_shape shape,
		    struct plx_batch batch)
{
	long all = total(shape, batch);

	if (shape.gpus == 1 && l->accumulate && batch.accum == 0 &&
	    all > l->base_batch)
		return false;
	return per_gpu_allowed(l, batch) && all >= l->base_batch &&
	       all <= l->max_batch;
}

/* The best goodput by trying all that is allowed; 0 when nothing is. */
static double best_of_all(const struct plx_goodput *g, struct plx_shape shape)
{
	const struct plx_limits *l = &g->limits;
	int passes = l->accumulate ? l->max_batch / shape.gpus : 1;
	double best = 0;

	for (int k = 1; k <= passes; k++) {
		int high = l->max_batch / shape.gpus / k;

		if (high > l->max_per_gpu)
			high = l->max_per_gpu;
		for (int m = l->min_per_gpu; m <= high; m++) {
			struct plx_batch b = { .per_gpu = m, .accum = k - 1 };

			if (allowed(l, shape, b))
				best = fmax(best, plx_goodput(g, shape, b));
		}
	}
	return best;
}

static bool one_in(uint64_t *seed, int n)
{
	return unit_random(seed) % n == 0;
}

static double spread(uint64_t *seed, double low, double high)
{
	return exp(unit_uniform(seed, log(low), log(high)));
}

static struct plx_limits random_limits(uint64_t *seed)
{
	struct plx_limits l = { .base_batch = spread(seed, 1, 400) };

	l.max_batch = l.base_batch + unit_random(seed) % 3;
	if (!one_in(seed, 3))
		l.max_batch *= spread(seed, 1, 20);
	l.min_per_gpu = one_in(seed, 2) ? 1 : 1 + unit_random(seed) % 40;
	if (l.min_per_gpu > l.max_batch)
		l.min_per_gpu = 1;
	l.max_per_gpu = l.min_per_gpu + spread(seed, 1, 400) - 1;
	l.accumulate = !one_in(seed, 4);
	return l;
}

/* Any scale of anything, and the edges where a term is nothing. */
static struct plx_goodput random_job(uint64_t *seed)
{
	struct plx_goodput g = {
		.model = { .alpha_c = spread(seed, 1e-5, 10),
			   .beta_c = spread(seed, 1e-5, 1),
			   .alpha_n = spread(seed, 1e-5, 10),
			   .beta_n = spread(seed, 1e-5, 1),
			   .alpha_r = spread(seed, 1e-5, 10),
			   .beta_r = spread(seed, 1e-5, 1),
			   .gamma = one_in(seed, 3) ? 1
						    : unit_uniform(seed, 1, 10),
			   .two_nodes = unit_uniform(seed, 0, 1),
			   .growth = one_in(seed, 2) },
		.noise = { .sqr = spread(seed, 1e-5, 10),
			   .var = spread(seed, 1e-5, 1000) },
		.limits = random_limits(seed),
	};

	*(one_in(seed, 2) ? &g.model.alpha_c : &g.model.beta_c) *=
		!one_in(seed, 8);
	*(one_in(seed, 2) ? &g.noise.sqr : &g.noise.var) *= !one_in(seed, 8);
	return g;
}

static struct plx_shape random_shape(uint64_t *seed)
{
	int gpus = one_in(seed, 3) ? 1 : 1 + unit_random(seed) % 32;

	return on(1 + unit_random(seed) % gpus, gpus);
}

static void no_gpus_do_nothing(void **state)
{
	struct plx_batch batch = { .per_gpu = 32 };
	double goodput = -1;

	(void) state;
	assert_true(plx_goodput(&job, on(0, 0), batch) == 0);
	assert_false(plx_batch_best(&job, on(0, 0), &batch, &goodput));
	assert_true(goodput == -1);
	assert_int_equal(32, batch.per_gpu);
}

static void one_gpu_waits_for_nobody(void **state)
{
	const struct plx_model *m = &job.model;

	(void) state;
	assert_true(plx_sync_seconds(m, on(1, 1)) == 0);
	assert_near(plx_grad_seconds(m, 32), plx_iter_seconds(m, on(1, 1), 32),
		    1e-7);
}

static void more_gpus_and_more_nodes_wait_longer(void **state)
{
	const struct plx_model *m = &job.model;

	(void) state;
	assert_near(0.05, plx_sync_seconds(m, on(1, 2)), 1e-9);
	assert_near(0.054, plx_sync_seconds(m, on(1, 4)), 1e-9);
	assert_near(0.22, plx_sync_seconds(m, on(2, 4)), 1e-9);
}

static void a_full_overlap_hides_the_shorter(void **state)
{
	struct plx_model m = job.model;

	(void) state;
	m.gamma = 1;
	assert_near(0.42 + 0.22, plx_iter_seconds(&m, on(2, 4), 32), 1e-9);
	m.gamma = 10;
	assert_near(0.42, plx_iter_seconds(&m, on(2, 4), 32), 1e-3);
}

static void quiet_gradients_gain_nothing_from_a_larger_batch(void **state)
{
	struct plx_noise quiet = { .sqr = 1, .var = 0 };
	struct plx_noise noisy = { .sqr = 0, .var = 1 };
	struct plx_noise none = { 0 };

	(void) state;
	assert_near(0.25, plx_efficiency(&quiet, 128, 512), 1e-12);
	assert_near(1, plx_efficiency(&noisy, 128, 512), 1e-12);
	assert_near(0.25, plx_efficiency(&none, 128, 512), 1e-12);
	assert_near(1, plx_efficiency(&job.noise, 128, 128), 1e-12);
}

static void the_best_batch_keeps_every_limit(void **state)
{
	enum { TOO_SMALL, FITS, ACCUMULATED, FULL, KINDS };
	struct reached reached[KINDS] = {
		[TOO_SMALL] = { "no batch fits", 0 },
		[FITS] = { "one does", 0 },
		[ACCUMULATED] = { "passes are accumulated", 0 },
		[FULL] = { "it is the largest a GPU may have", 0 },
	};
	uint64_t seed = 11;

	(void) state;
	for (int i = 0; i < RANDOM_PROBLEMS; i++) {
		struct plx_goodput g = random_job(&seed);
		struct plx_shape shape = random_shape(&seed);
		struct plx_batch b;
		double goodput;
		bool fits = (long) shape.gpus * g.limits.min_per_gpu <=
			    g.limits.max_batch;

		assert_true(plx_goodput_valid(&g));
		assert_int_equal(fits, plx_batch_best(&g, shape, &b, &goodput));
		reached[fits ? FITS : TOO_SMALL].times++;
		if (!fits)
			continue;
		reached[ACCUMULATED].times += b.accum > 0;
		reached[FULL].times += b.per_gpu == g.limits.max_per_gpu;
		assert_true(per_gpu_allowed(&g.limits, b));
		assert_true(total(shape, b) <= g.limits.max_batch);
		assert_true(isfinite(goodput) && goodput > 0);
		assert_true(goodput == plx_goodput(&g, shape, b));
	}
	assert_all_reached(reached, KINDS, 50);
}

static void no_batch_is_better_than_the_best(void **state)
{
	uint64_t seed = 12;
	int judged = 0;

	(void) state;
	while (judged < EXHAUSTIVE_PROBLEMS) {
		struct plx_goodput g = random_job(&seed);
		struct plx_shape shape = random_shape(&seed);
		double best = best_of_all(&g, shape);
		struct plx_batch b;
		double goodput;

		if (best == 0)
			continue;
		judged++;
		assert_true(plx_batch_best(&g, shape, &b, &goodput));
		assert_true(allowed(&g.limits, shape, b));
		assert_true(goodput >= best * (1 - 1e-3));
		assert_true(goodput <= best * (1 + 1e-12));
	}
}

/* The same search where nobody can try all: it must not hang either. */
static void huge_limits_are_searched_in_no_time(void **state)
{
	struct plx_goodput g = job;
	struct plx_batch b;
	double goodput;

	(void) state;
	g.limits = (struct plx_limits){ .base_batch = 16777213,
					.max_batch = 16777213, /* a prime */
					.min_per_gpu = 1,
					.max_per_gpu = 64,
					.accumulate = true };
	for (int i = 1; i <= 4096; i += 7) {
		assert_true(plx_batch_best(&g, on(1, i), &b, &goodput));
		assert_true(total(on(1, i), b) <= 16777213);
	}
	assert_true(plx_batch_best(&g, on(1, 1), &b, &goodput));
	assert_int_equal(16777213, total(on(1, 1), b));
}

static void one_gpu_takes_two_gradients_of_a_larger_batch(void **state)
{
	struct plx_goodput g = job;
	struct plx_batch b;
	double goodput;

	(void) state;
	g.noise = (struct plx_noise){ .sqr = 1e-6, .var = 1 };
	g.limits.max_per_gpu = 4096;
	assert_true(plx_batch_best(&g, on(1, 1), &b, &goodput));
	assert_true(total(on(1, 1), b) > 128);
	assert_true(b.accum >= 1);
	g.limits.accumulate = false;
	assert_true(plx_batch_best(&g, on(1, 1), &b, &goodput));
	assert_int_equal(0, b.accum);
}

static void a_base_batch_out_of_reach_is_approached_from_below(void **state)
{
	struct plx_goodput g = job;
	struct plx_batch b;
	double goodput;

	(void) state;
	g.limits.max_batch = 128; /* not a multiple of 3 */
	assert_true(plx_batch_best(&g, on(1, 3), &b, &goodput));
	assert_int_equal(126, total(on(1, 3), b));
	g.limits.max_per_gpu = 20;
	g.limits.accumulate = false;
	assert_true(plx_batch_best(&g, on(1, 3), &b, &goodput));
	assert_int_equal(60, total(on(1, 3), b));
}

static void more_gpus_than_samples_are_refused(void **state)
{
	struct plx_goodput g = job;
	double goodput = 0;

	(void) state;
	g.limits.max_batch = 128;
	assert_true(plx_batch_best(&g, on(4, 16), NULL, &goodput));
	goodput = -1;
	assert_false(plx_batch_best(&g, on(5, 17), NULL, &goodput));
	assert_true(goodput == -1);
}

static void numbers_out_of_range_are_not_valid(void **state)
{
	const double wrong[] = { NAN, INFINITY, -INFINITY, -1e-9, 1e200 };

	(void) state;
	assert_true(plx_goodput_valid(&job));
	for (size_t i = 0; i < ARRAY_SIZE(wrong); i++) {
		for (size_t part = 0; part < 9; part++) {
			struct plx_goodput g = job;
			double *const parts[] = {
				&g.model.alpha_c, &g.model.beta_c,
				&g.model.alpha_n, &g.model.beta_n,
				&g.model.alpha_r, &g.model.beta_r,
				&g.model.gamma,	  &g.noise.sqr,
				&g.noise.var,
			};

			*parts[part] = wrong[i];
			assert_false(plx_goodput_valid(&g));
		}
	}
}

static void limits_that_contradict_are_not_valid(void **state)
{
	const struct plx_limits wrong[] = {
		{ 0, 128, 1, 64, true },      { 128, 127, 1, 64, true },
		{ 128, 256, 0, 64, true },    { 128, 256, 65, 64, true },
		{ 128, 256, 257, 300, true },
	};

	(void) state;
	for (size_t i = 0; i < ARRAY_SIZE(wrong); i++) {
		struct plx_goodput g = job;

		g.limits = wrong[i];
		assert_false(plx_goodput_valid(&g));
	}
}

static void check_point(const json_t *c, size_t i)
{
	struct plx_goodput g = {
		.model = reference_model(json_object_get(c, "perf_params")),
		.noise = reference_noise(json_object_get(c, "grad_params")),
		.limits.base_batch = reference_number(c, "init_batch_size"),
	};
	struct plx_shape shape = on(reference_at(c, "num_nodes", i),
				    reference_at(c, "num_replicas", i));
	struct plx_batch b = { .per_gpu = reference_at(c, "atomic_bsz", i),
			       .accum = reference_at(c, "accum_steps", i) };

	assert_near(reference_at(c, "accum_time", i),
		    plx_grad_seconds(&g.model, b.per_gpu), 1e-9);
	if (shape.gpus > 1)
		assert_near(reference_at(c, "network_time", i),
			    plx_sync_seconds(&g.model, shape), 1e-9);
	assert_near(reference_at(c, "throughput", i),
		    plx_throughput(&g.model, shape, b), 1e-9);
	assert_near(reference_at(c, "efficiency", i),
		    plx_efficiency(&g.noise, g.limits.base_batch,
				   total(shape, b)),
		    1e-9);
	assert_near(reference_at(c, "goodput", i), plx_goodput(&g, shape, b),
		    1e-9);
}

static void the_formulas_are_the_published_ones(void **state)
{
	json_t *root = reference_load("goodput_evaluate_osdi.json");
	size_t points = 0;
	size_t i;
	json_t *c;

	(void) state;
	json_array_foreach(json_object_get(root, "cases"), i, c)
	{
		size_t n = json_array_size(json_object_get(c, "goodput"));

		for (size_t k = 0; k < n; k++)
			check_point(c, k);
		points += n;
	}
	print_message("# %zu points agree to 1e-9\n", points);
	assert_true(points > 0);
	json_decref(root);
}

static struct plx_goodput recorded_job(const json_t *sets, const json_t *c)
{
	const json_t *set = json_object_get(sets, reference_text(c, "set"));
	const json_t *range = json_object_get(c, "atomic_bsz_range");
	struct plx_limits l = {
		.base_batch = reference_number(c, "init_batch_size"),
		.min_per_gpu = 1,
		.accumulate = json_is_true(json_object_get(c, "accumulation")),
	};

	l.max_batch = json_is_null(json_object_get(c, "max_batch_size"))
			      ? l.base_batch
			      : reference_number(c, "max_batch_size");
	l.max_per_gpu = l.max_batch;
	if (json_is_array(range)) {
		l.min_per_gpu = reference_at(c, "atomic_bsz_range", 0);
		l.max_per_gpu = reference_at(c, "atomic_bsz_range", 1);
	}
	return (struct plx_goodput){
		.model = reference_model(json_object_get(set, "perf_params")),
		.noise = reference_noise(json_object_get(set, "grad_params")),
		.limits = l,
	};
}

/* How far below the published choice and the best of all we may be. */
struct losses {
	int judged;
	int refused;	  /* published choices that break a limit */
	double published; /* worst relative losses */
	double best;
};

static void judge_case(const json_t *sets, const json_t *c, struct losses *l)
{
	struct plx_goodput g = recorded_job(sets, c);
	struct plx_shape shape = on(reference_number(c, "num_nodes"),
				    reference_number(c, "num_replicas"));
	struct plx_batch theirs = {
		.per_gpu = reference_number(c, "atomic_bsz"),
		.accum = reference_number(c, "accum_steps"),
	};
	double best = best_of_all(&g, shape);
	struct plx_batch ours;
	double goodput;

	if (best == 0)
		return;
	l->judged++;
	assert_true(plx_batch_best(&g, shape, &ours, &goodput));
	assert_true(allowed(&g.limits, shape, ours));
	l->best = fmax(l->best, 1 - goodput / best);
	if (!allowed(&g.limits, shape, theirs)) {
		l->refused++;
		return;
	}
	l->published = fmax(l->published,
			    1 - goodput / reference_number(c, "goodput"));
}

static void no_published_choice_is_better(void **state)
{
	json_t *root = reference_load("goodput_optimize_osdi.json");
	const json_t *sets = json_object_get(root, "sets");
	struct losses losses = { 0 };
	size_t i;
	json_t *c;

	(void) state;
	json_array_foreach(json_object_get(root, "cases"), i, c)
		judge_case(sets, c, &losses);
	print_message("# %d cases, %d published choices break a limit; "
		      "worst loss to published %.1e, to the best of all %.1e\n",
		      losses.judged, losses.refused, losses.published,
		      losses.best);
	assert_true(losses.judged > 0);
	assert_true(losses.published <= 1e-9);
	assert_true(losses.best <= 1e-3);
	json_decref(root);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(no_gpus_do_nothing),
		cmocka_unit_test(one_gpu_waits_for_nobody),
		cmocka_unit_test(more_gpus_and_more_nodes_wait_longer),
		cmocka_unit_test(a_full_overlap_hides_the_shorter),
		cmocka_unit_test(
			quiet_gradients_gain_nothing_from_a_larger_batch),
		cmocka_unit_test(the_best_batch_keeps_every_limit),
		cmocka_unit_test(no_batch_is_better_than_the_best),
		cmocka_unit_test(huge_limits_are_searched_in_no_time),
		cmocka_unit_test(one_gpu_takes_two_gradients_of_a_larger_batch),
		cmocka_unit_test(
			a_base_batch_out_of_reach_is_approached_from_below),
		cmocka_unit_test(more_gpus_than_samples_are_refused),
		cmocka_unit_test(numbers_out_of_range_are_not_valid),
		cmocka_unit_test(limits_that_contradict_are_not_valid),
		cmocka_unit_test(the_formulas_are_the_published_ones),
		cmocka_unit_test(no_published_choice_is_better),
	};

	return _cmocka_run_group_tests("goodput", tests,
				       reference_runnable(ARRAY_SIZE(tests), 2),
				       NULL, NULL);
}
