/* SPDX-License-Identifier: MIT */
/*
 * test_gradient.c - the mean gradient, whatever it is summed up from
 *
 * A sample's gradient is a function of its number, so that the mean over a
 * step is known exactly, however samples are spread over ranks and passes.
 */

#include <math.h>
#include <string.h>
#include <unistd.h>

#include "crew.h"
#include "reference.h"

enum { BUCKETS = 3, LARGE = 20000 };

/* What is trained, and what came of it. */
struct job {
	size_t sizes[BUCKETS];
	int buckets;
	bool backwards; /* last bucket first, ... */
	bool forwards0; /* ... but not on rank 0 */
	bool lazy;	/* pollux_reduce() alone */
	double loss_scale;
	uint64_t bad_step; /* from 1: one rank's gradient is none */
	/* Rank 0's. */
	double off; /* of any mean, at worst, relative */
	double loss_off;
	int steps;
	int smallest; /* samples of a step, fewest */
	int empty;    /* passes without samples */
	int skipped;
	double noise_scale;
	double progress;
};

/* Of one sample, at one place. */
static double sample_gradient(uint64_t sample, size_t i)
{
	return 1 + 0.1 * (double) (sample % 17) - 0.05 * (double) (i % 7) +
	       0.01 * (double) (sample % 5) * (double) (i % 3);
}

static void fill(const struct job *job, const struct pollux_pass *pass,
		 size_t first, float *gradient, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		double sum = 0;

		for (size_t s = 0; s < pass->count && i < 40; s++)
			sum += sample_gradient(pass->samples[s], first + i);
		gradient[i] =
			(float) (sum / (double) pass->count * job->loss_scale);
		if (i >= 40)
			gradient[i] = gradient[i % 40];
		/* What a rank without samples has there is not to be read. */
		if (!pass->count)
			gradient[i] = NAN;
	}
}

static double mean_loss(const struct pollux_pass *pass)
{
	double sum = 0;

	for (size_t s = 0; s < pass->count; s++)
		sum += (double) pass->samples[s];
	return pass->count ? sum / (double) pass->count : NAN;
}

/* All samples of the step, from the order that anybody can compute. */
static void check_mean(struct job *job, struct pollux *p, const float *gradient,
		       size_t first, size_t n)
{
	uint64_t batch = p->step.batch;
	double loss = 0;

	for (size_t i = 0; i < n; i += 1 + n / 20) {
		double want = 0;

		for (uint64_t s = 0; s < batch; s++)
			want += sample_gradient(
				plx_cursor_sample(&p->cursor,
						  p->cursor.position + s),
				first + i % 40);
		want /= (double) batch;
		job->off =
			fmax(job->off, fabs((double) gradient[i] / want - 1));
	}
	for (uint64_t s = 0; s < batch; s++)
		loss += (double) plx_cursor_sample(&p->cursor,
						   p->cursor.position + s);
	job->loss_off =
		fmax(job->loss_off,
		     fabs(p->step.all.loss / (loss / (double) batch) - 1));
}

static int give(struct crew_rank *rank, const struct pollux_pass *pass,
		float *gradient)
{
	struct job *job = rank->user;
	size_t first[BUCKETS + 1] = { 0 };
	int rc = 0;

	for (int b = 0; b < job->buckets; b++)
		first[b + 1] = first[b] + job->sizes[b];
	for (int k = 0; k < job->buckets && rc == 0; k++) {
		bool back = job->backwards && (rank->rank || !job->forwards0);
		int b = back ? job->buckets - 1 - k : k;

		fill(job, pass, first[b], gradient + first[b], job->sizes[b]);
		if (pass->step + 1 == job->bad_step && rank->rank == 1)
			gradient[first[b]] = INFINITY;
		if (!job->lazy)
			rc = pollux_gradient(rank->p, b, gradient + first[b]);
	}
	if (job->lazy)
		return pollux_reduce(rank->p, gradient, first[job->buckets],
				     mean_loss(pass));
	return rc < 0 ? rc : pollux_sync(rank->p, mean_loss(pass));
}

static void note(struct job *job, struct pollux *p, const float *gradient)
{
	size_t first = 0;

	if (!job->smallest || (int) p->step.batch < job->smallest)
		job->smallest = (int) p->step.batch;
	job->steps++;
	if (pollux_skipped(p)) {
		job->skipped++;
		return;
	}
	for (int b = 0; b < job->buckets; b++) {
		check_mean(job, p, gradient + first, first, job->sizes[b]);
		first += job->sizes[b];
	}
}

static int set_up(struct crew_rank *rank)
{
	struct job *job = rank->user;

	for (int b = 0; b < job->buckets && !job->lazy; b++) {
		const struct pollux_bucket bucket = { .count = job->sizes[b] };

		if (pollux_bucket(rank->p, &bucket) != b)
			return -1;
	}
	if (pollux_start(rank->p) < 0)
		return -1;
	/* The batch stays. */
	rank->p->meter.settling = 1000000;
	return pollux_loss_scale(rank->p, job->loss_scale);
}

static int train(struct crew_rank *rank)
{
	static float memory[CREW_MAX][BUCKETS * LARGE];
	float *gradient = memory[rank->rank];
	struct job *job = rank->user;
	struct pollux_pass pass;
	struct pollux_info info;
	int more;

	if (set_up(rank) < 0)
		return -1;
	while ((more = pollux_next(rank->p, &pass)) > 0) {
		if (rank->rank == 0)
			job->empty += pass.count == 0;
		if (give(rank, &pass, gradient) < 0)
			return -1;
		if (!pass.sync)
			continue;
		if (rank->rank == 0)
			note(job, rank->p, gradient);
		if (pollux_commit(rank->p) < 0)
			return -1;
	}
	pollux_info(rank->p, &info);
	if (rank->rank == 0) {
		job->noise_scale = info.noise_scale;
		job->progress = info.progress;
	}
	return more;
}

static struct pollux_config small(void)
{
	struct pollux_config config;

	pollux_config_init(&config);
	config.samples = 101;
	config.epochs = 2;
	config.batch = 10;
	config.quiet = true;
	return config;
}

static void run(struct job *job, int ranks, bool begins,
		const struct pollux_config *config)
{
	struct crew crew = { .ranks = ranks, .begins = begins };

	if (job->loss_scale == 0)
		job->loss_scale = 1;
	assert_int_equal(0, crew_run(&crew, config, train, job));
}

/* One piece or several, copied or in place, begun early or not. */
static void the_mean_is_over_all_samples_of_a_step(void **state)
{
	static const struct job jobs[] = {
		{ .sizes = { 41 }, .buckets = 1, .lazy = true },
		{ .sizes = { LARGE }, .buckets = 1, .lazy = true },
		{ .sizes = { 50, 1, 60 }, .buckets = 3 },
		{ .sizes = { 50, LARGE, 60 }, .buckets = 3 },
		{ .sizes = { 50, LARGE, 60 }, .buckets = 3, .backwards = true },
	};
	static const int most[] = { 10, 3, 2 }; /* samples of a pass */

	(void) state;
	for (size_t i = 0; i < ARRAY_SIZE(jobs) * ARRAY_SIZE(most) * 6; i++) {
		struct job job = jobs[i % ARRAY_SIZE(jobs)];
		struct pollux_config config = small();

		config.max_gpu_batch = most[i / ARRAY_SIZE(jobs) / 6];
		run(&job, 1 + (int) (i / ARRAY_SIZE(jobs) % 3), i % 2, &config);
		if (job.off > 2e-6 || job.loss_off > 1e-6)
			fail_msg("case %zu: off by %.2g, loss by %.2g", i,
				 job.off, job.loss_off);
	}
}

/* 11 samples for 10 a step: 5 and 6, or 10 and 1, on 8 ranks. */
static void a_smaller_rest_weighs_what_it_has(void **state)
{
	struct job job = { .sizes = { 30 }, .buckets = 1 };
	struct pollux_config config = small();

	(void) state;
	config.samples = 13;
	config.batch = 3;
	run(&job, 8, false, &config);
	assert_true(job.empty > 0);
	assert_true(job.off < 1e-6 && job.loss_off < 1e-6);
}

static void ranks_may_come_to_their_buckets_in_another_order(void **state)
{
	struct job job = {
		.sizes = { LARGE, LARGE, 60 },
		.buckets = 3,
		.backwards = true,
		.forwards0 = true,
	};
	struct pollux_config config = small();

	(void) state;
	run(&job, 3, true, &config);
	assert_true(job.steps > 2);
	assert_true(job.off < 2e-6 && job.loss_off < 1e-6);
}

static void the_loss_scale_is_divided_out(void **state)
{
	static const double scales[] = { 1, 1024, 65536, 0.25 };
	double noise[ARRAY_SIZE(scales)];

	(void) state;
	for (int ranks = 1; ranks <= 2; ranks++) {
		for (size_t i = 0; i < ARRAY_SIZE(scales); i++) {
			struct job job = {
				.sizes = { 50, 60 },
				.buckets = 2,
				.loss_scale = scales[i],
			};
			struct pollux_config config = small();

			run(&job, ranks, false, &config);
			assert_true(job.off < 2e-6);
			noise[i] = job.noise_scale;
			assert_near(noise[0], noise[i], 1e-4);
		}
	}
}

static void a_gradient_that_is_none_is_skipped_by_all(void **state)
{
	static const size_t sizes[] = { 50, LARGE };

	(void) state;
	for (size_t i = 0; i < 4; i++) {
		struct job job = {
			.sizes = { sizes[i % 2] },
			.buckets = 1,
			.bad_step = 3,
		};
		struct job good = job;
		struct pollux_config config = small();

		config.max_gpu_batch = i / 2 ? 2 : 10;
		good.bad_step = 0;
		run(&job, 2, false, &config);
		run(&good, 2, false, &config);
		assert_int_equal(1, job.skipped);
		assert_int_equal(0, good.skipped);
		/* Its samples are used, but it brings nothing else. */
		assert_int_equal(good.steps, job.steps);
		assert_true(job.progress < good.progress - 0.5);
		assert_true(isfinite(job.noise_scale));
		assert_near(good.noise_scale, job.noise_scale, 0.1);
		assert_true(job.off < 2e-6);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_mean_is_over_all_samples_of_a_step),
		cmocka_unit_test(a_smaller_rest_weighs_what_it_has),
		cmocka_unit_test(
			ranks_may_come_to_their_buckets_in_another_order),
		cmocka_unit_test(the_loss_scale_is_divided_out),
		cmocka_unit_test(a_gradient_that_is_none_is_skipped_by_all),
	};

	alarm(60);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
