/* SPDX-License-Identifier: MIT */
/*
 * test_training.c - the loop as a program sees it: order of calls and of
 * samples, passes that do not fit, progress, and what is refused
 */

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "crew.h"
#include "reference.h"

enum { SAMPLES = 1000, EPOCHS = 2, NUMBERS = 20 };

/* What ranks have in common. */
struct job {
	int fits;	/* samples of a pass, 0: any number */
	int tight_rank; /* whose memory is so small, -1: everybody's */
	bool commit;	/* also where pollux_next() would do */
	bool bad;	/* no gradient is finite */
	int groups;
	/* What came of it. */
	int used[EPOCHS][SAMPLES]; /* by rank 0, in committed steps */
	struct plx_profile profile;
	struct plx_limits limits;
	int abandoned;
	int largest; /* pass that went well */
	int seeks;
	uint64_t told; /* first sample of the last seek */
	bool strayed;
	double progress;
	double factor[2];
	enum pollux_status code;
	char sentence[PLX_ERROR_SIZE];
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* of used */

static bool too_large(const struct job *job, const struct crew_rank *rank,
		      const struct pollux_pass *pass)
{
	if (job->tight_rank >= 0 && rank->rank != job->tight_rank)
		return false;
	return job->fits && (int) pass->count > job->fits;
}

/* The samples of a step, known to be used when it is committed. */
struct taken {
	uint64_t numbers[SAMPLES];
	size_t count;
	int epoch;
};

static void take(struct taken *t, const struct pollux_pass *pass)
{
	if (pass->index == 0)
		t->count = 0;
	t->epoch = pass->epoch;
	for (size_t i = 0; i < pass->count; i++)
		t->numbers[t->count++] = pass->samples[i];
}

static void use(struct job *job, const struct taken *t)
{
	pthread_mutex_lock(&lock);
	for (size_t i = 0; i < t->count && t->epoch < EPOCHS; i++)
		job->used[t->epoch][t->numbers[i]]++;
	pthread_mutex_unlock(&lock);
}

static int run_pass(struct crew_rank *rank, const struct pollux_pass *pass)
{
	static const float none[NUMBERS];
	struct job *job = rank->user;
	float gradient[2][NUMBERS];

	if (too_large(job, rank, pass))
		return pollux_out_of_memory(rank->p);
	for (int g = 0; g < job->groups; g++) {
		memcpy(gradient[g], none, sizeof(none));
		/* Noise in the second group alone. */
		for (int i = 0; i < NUMBERS; i++)
			gradient[g][i] =
				g ? (float) ((pass->first + (uint64_t) i) % 7)
				  : 1;
		if (job->bad)
			gradient[g][3] = NAN;
		if (pollux_gradient(rank->p, g, gradient[g]) < 0)
			return -1;
	}
	return pollux_sync(rank->p, 1);
}

static void note_step(struct crew_rank *rank, const struct pollux_pass *pass)
{
	struct job *job = rank->user;

	if (rank->rank != 0)
		return;
	if (!rank->p->step.all.full && pass->per_gpu > job->largest)
		job->largest = pass->per_gpu;
	job->abandoned += rank->p->step.all.full;
	job->factor[0] = pollux_lr_factor(rank->p, 0);
	job->factor[1] = pollux_lr_factor(rank->p, 1);
}

static int end_step(struct crew_rank *rank, const struct pollux_pass *pass,
		    const struct taken *taken)
{
	struct job *job = rank->user;
	bool full = rank->p->step.all.full;

	note_step(rank, pass);
	if (full && !pollux_skipped(rank->p))
		return -1;
	if (full && !job->commit)
		return 0;
	if (pollux_commit(rank->p) < 0)
		return -1;
	if (!full)
		use(job, taken);
	return 0;
}

static int set_up(struct crew_rank *rank)
{
	struct job *job = rank->user;

	for (int g = 0; g < job->groups; g++) {
		const struct pollux_bucket bucket = { .count = NUMBERS,
						      .group = g };

		if (pollux_bucket(rank->p, &bucket) != g)
			return -1;
	}
	if (job->profile.size)
		rank->p->profile = job->profile;
	if (pollux_start(rank->p) < 0)
		return -1;
	rank->p->meter.settling = 1000000;
	return 0;
}

static int finish(struct crew_rank *rank, int rc)
{
	struct job *job = rank->user;

	if (rank->rank == 0) {
		job->profile = rank->p->profile;
		job->limits = rank->p->limits;
		job->progress = pollux_progress(rank->p);
		job->code = rank->p->code;
		snprintf(job->sentence, sizeof(job->sentence), "%s",
			 pollux_error(rank->p));
	}
	return rc;
}

static int train(struct crew_rank *rank)
{
	static struct taken taken[CREW_MAX];
	struct pollux_pass pass;
	int more;

	if (set_up(rank) < 0)
		return finish(rank, -1);
	while ((more = pollux_next(rank->p, &pass)) > 0) {
		take(&taken[rank->rank], &pass);
		if (run_pass(rank, &pass) < 0)
			return finish(rank, -1);
		if (pass.sync && end_step(rank, &pass, &taken[rank->rank]) < 0)
			return finish(rank, -1);
	}
	return finish(rank, more);
}

static struct pollux_config usual(void)
{
	struct pollux_config config;

	pollux_config_init(&config);
	config.samples = SAMPLES;
	config.epochs = EPOCHS;
	config.batch = 64;
	config.quiet = true;
	return config;
}

static struct job any_job(void)
{
	return (struct job){ .tight_rank = -1, .groups = 1 };
}

static int run(struct job *job, int ranks, bool begins,
	       const struct pollux_config *config)
{
	struct crew crew = { .ranks = ranks, .begins = begins };

	return crew_run(&crew, config, train, job);
}

static void each_once(const struct job *job)
{
	for (int e = 0; e < EPOCHS; e++) {
		for (int i = 0; i < SAMPLES; i++) {
			if (job->used[e][i] != 1)
				fail_msg("epoch %d: sample %d used %d times", e,
					 i, job->used[e][i]);
		}
	}
}

/* ---- passes that do not fit ---- */

/* On one rank or all, alone or not, in the first pass or a later one. */
static void a_pass_that_does_not_fit_is_tried_smaller(void **state)
{
	(void) state;
	for (int i = 0; i < 48; i++) {
		static const int fits[] = { 1, 5, 13 };
		struct job job = any_job();
		struct pollux_config config = usual();
		int ranks = 1 + i % 4;

		job.fits = fits[i / 4 % 3];
		job.tight_rank = i / 12 % 2 ? ranks - 1 : -1;
		job.commit = i / 24;
		job.groups = 1 + i / 12 % 2;
		assert_int_equal(0, run(&job, ranks, i % 3 == 0, &config));
		each_once(&job);
		assert_true(job.abandoned >= 1 && job.abandoned <= 8);
		assert_true(job.largest <= job.fits || job.tight_rank >= 0);
		assert_true(job.limits.max_per_gpu < 64 / ranks);
		/* Not smaller by far than it need be. */
		assert_true(2 * job.largest >= job.fits);
	}
}

static void what_does_not_fit_is_remembered(void **state)
{
	struct job job = any_job();
	struct job again = any_job();
	struct pollux_config config = usual();

	(void) state;
	job.fits = again.fits = 13;
	assert_int_equal(0, run(&job, 2, false, &config));
	assert_true(job.abandoned > 0);
	again.profile = job.profile;
	assert_int_equal(0, run(&again, 2, false, &config));
	assert_int_equal(0, again.abandoned);
	assert_int_equal(job.limits.max_per_gpu, again.limits.max_per_gpu);
}

static void it_fails_when_not_even_the_least_fits(void **state)
{
	struct job job = any_job();
	struct pollux_config config = usual();

	(void) state;
	config.min_gpu_batch = 10;
	config.max_batch = 256;
	job.fits = 9;
	assert_int_not_equal(0, run(&job, 2, false, &config));
	assert_int_equal(POLLUX_ENOMEM, job.code);
	assert_string_equal("a pass of 10 samples does not fit into memory, "
			    "and min_gpu_batch is 10",
			    job.sentence);
}

/* ---- order of samples ---- */

static int go_to(void *user, int epoch, uint64_t first, uint64_t count)
{
	struct job *job = user;

	(void) epoch;
	job->seeks++;
	job->told = first;
	return count > 0 ? 0 : -1;
}

static int refuse(void *user, int epoch, uint64_t first, uint64_t count)
{
	(void) user;
	(void) count;
	return epoch > 0 && first == 0 ? -1 : 0;
}

static struct pollux_config stream(struct job *job)
{
	struct pollux_config config = usual();

	config.order = POLLUX_SEQUENTIAL;
	config.seek = go_to;
	config.seek_user = job;
	return config;
}

/* Alone: at the beginning and at that of each epoch. */
static void a_stream_is_moved_only_when_it_has_to(void **state)
{
	struct job job = any_job();
	struct pollux_config config = stream(&job);

	(void) state;
	assert_int_equal(0, run(&job, 1, false, &config));
	each_once(&job);
	assert_int_equal(EPOCHS, job.seeks);
	assert_int_equal(0, job.told);
}

static int walk_stream(struct crew_rank *rank)
{
	struct job *job = rank->user;
	struct pollux_pass pass;
	uint64_t follows = 0;

	if (set_up(rank) < 0)
		return -1;
	for (int i = 0; i < 50; i++) {
		int seeks = job->seeks;
		bool moved;

		if (pollux_next(rank->p, &pass) <= 0)
			return -1;
		moved = job->seeks > seeks;
		for (size_t k = 0; k < pass.count; k++)
			job->strayed = job->strayed ||
				       pass.samples[k] != pass.first + k;
		job->strayed = job->strayed ||
			       (i == 0 || pass.first != follows) != moved ||
			       (moved && job->told != pass.first);
		follows = pass.first + pass.count;
		if (run_pass(rank, &pass) < 0 ||
		    (pass.sync && pollux_commit(rank->p) < 0))
			return -1;
	}
	return 0;
}

static void a_stream_gives_what_it_was_moved_to(void **state)
{
	struct job job = any_job();
	struct pollux_config config = stream(&job);
	struct crew crew = { .ranks = 1 };

	(void) state;
	config.max_gpu_batch = 30;
	job.seeks = -1; /* the first is one, too */
	assert_int_equal(0, crew_run(&crew, &config, walk_stream, &job));
	assert_false(job.strayed);
}

static void a_stream_that_cannot_move_ends_it(void **state)
{
	struct job job = any_job();
	struct pollux_config config = stream(&job);

	(void) state;
	config.seek = refuse;
	assert_int_not_equal(0, run(&job, 1, false, &config));
	assert_int_equal(POLLUX_EINVAL, job.code);
	assert_string_equal("the program cannot go to sample 0 of epoch 1",
			    job.sentence);
}

/* ---- progress and learning rate ---- */

/* Without noise a larger batch brings no more than the base batch. */
static void progress_is_what_the_base_batch_would_have_brought(void **state)
{
	struct job job = any_job();
	struct pollux_config config = usual();

	(void) state;
	config.samples = 960;
	assert_int_equal(0, run(&job, 2, false, &config));
	assert_near(EPOCHS * 15.0, job.progress, 1e-6);
}

static void training_can_end_by_progress(void **state)
{
	struct job job = any_job();
	struct pollux_config config = usual();

	(void) state;
	config.counting = POLLUX_PROGRESS;
	config.samples = 500;
	config.epochs = 4;
	assert_int_equal(0, run(&job, 2, false, &config));
	assert_true(job.progress >= 4 * 500 / 64.);
	assert_true(job.progress < 4 * 500 / 64. + 1);
}

static void progress_that_never_comes_ends_it(void **state)
{
	struct job job = any_job();
	struct pollux_config config = usual();

	(void) state;
	config.epochs = 5;
	job.bad = true;
	assert_int_not_equal(0, run(&job, 1, false, &config));
	assert_string_equal("64 steps in a row without a finite gradient: "
			    "nothing has been learned since step 0",
			    job.sentence);
	assert_true(job.progress == 0);
}

static double by_group(const struct pollux_lr_state *state, void *user)
{
	double *seen = user;

	seen[state->group] = state->var;
	return state->group ? 0.5 * state->scale : NAN;
}

static void a_rule_of_the_program_goes_before(void **state)
{
	struct job job = any_job();
	struct pollux_config config = usual();
	double seen[2] = { 0 };

	(void) state;
	config.lr_rule = by_group;
	config.lr_user = seen;
	job.groups = 2;
	assert_int_equal(0, run(&job, 1, false, &config));
	assert_true(job.factor[0] == 1);
	assert_true(job.factor[1] == 0.5);
	/* Each group has a noise of its own. */
	assert_true(seen[0] < 1e-5 && seen[1] > 1e-3);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_pass_that_does_not_fit_is_tried_smaller),
		cmocka_unit_test(what_does_not_fit_is_remembered),
		cmocka_unit_test(it_fails_when_not_even_the_least_fits),
		cmocka_unit_test(a_stream_is_moved_only_when_it_has_to),
		cmocka_unit_test(a_stream_gives_what_it_was_moved_to),
		cmocka_unit_test(a_stream_that_cannot_move_ends_it),
		cmocka_unit_test(
			progress_is_what_the_base_batch_would_have_brought),
		cmocka_unit_test(training_can_end_by_progress),
		cmocka_unit_test(progress_that_never_comes_ends_it),
		cmocka_unit_test(a_rule_of_the_program_goes_before),
	};

	alarm(60);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
