/* SPDX-License-Identifier: MIT */
/*
 * test_alike.c - ranks that have come apart, and what they tell each other
 * beside the gradient
 */

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "agent/state/rescue.h"
#include "crew.h"
#include "unit.h"

enum { RANKS = 3, SAMPLES = 90, NUMBERS = 5000 };

struct job {
	char dir[64];
	/* Rank 2's second tensor is this much larger. */
	float apart;
	bool integers; /* it is the third that differs */
	bool between;  /* finish between two steps, not after pollux_next() */
	int steps;     /* until the end */
	/* What came of it. */
	char sentence[PLX_ERROR_SIZE];
	float mean;
	int spread[RANKS];
	double summed[RANKS][2]; /* the first number, and the last */
	bool refused[RANKS];
	bool finished[RANKS];
	bool restored;
	uint64_t begun_at;
	int measured; /* most GPUs that are known at the beginning */
};

static int setup(void **state)
{
	static struct job job;

	job = (struct job){ .steps = 4 };
	snprintf(job.dir, sizeof(job.dir), "/tmp/pollux-alike-XXXXXX");
	*state = mkdtemp(job.dir) ? &job : NULL;
	return *state ? 0 : -1;
}

static int teardown(void **state)
{
	struct job *job = *state;
	char command[128];

	snprintf(command, sizeof(command), "rm -rf '%s'", job->dir);
	return system(command) == 0 ? 0 : -1;
}

struct state {
	float first[7];
	float second[NUMBERS];
	int64_t third;
};

static int set_up(struct crew_rank *rank, struct state *s)
{
	const struct pollux_bucket bucket = { .count = 1 };
	const struct pollux_tensor tensors[] = {
		{ .name = "first",
		  .data = s->first,
		  .dims = 1,
		  .shape = { 7 } },
		{ .name = "second",
		  .data = s->second,
		  .dims = 1,
		  .shape = { NUMBERS } },
		{ .name = "third", .data = &s->third, .type = POLLUX_I64 },
	};

	for (int i = 0; i < 3; i++) {
		if (pollux_register(rank->p, &tensors[i]) < 0)
			return -1;
	}
	return pollux_bucket(rank->p, &bucket) < 0 ? -1 : pollux_start(rank->p);
}

static void train(struct crew_rank *rank, struct state *s)
{
	struct job *job = rank->user;

	for (int i = 0; i < NUMBERS; i++)
		s->second[i] = 1 + (rank->rank == 2 ? job->apart : 0);
	s->third++;
	if (job->integers && rank->rank == 2)
		s->third++;
}

static int one_step(struct crew_rank *rank, struct state *s, bool save)
{
	struct pollux_pass pass;
	float gradient = 1;

	if (pollux_next(rank->p, &pass) != 1 ||
	    pollux_reduce(rank->p, &gradient, 1, 1) < 0)
		return -1;
	train(rank, s);
	if (save)
		pollux_checkpoint(rank->p);
	return pollux_commit(rank->p);
}

static int work(struct crew_rank *rank)
{
	struct job *job = rank->user;
	struct state s = { .first = { 1 } };
	int rc = set_up(rank, &s);

	for (int i = 0; rc == 0 && i < job->steps; i++)
		rc = one_step(rank, &s, i == 1);
	if (rank->rank == 0 && rc < 0)
		snprintf(job->sentence, sizeof(job->sentence), "%s",
			 pollux_error(rank->p));
	return rc;
}

static struct pollux_config usual(struct job *job)
{
	struct pollux_config config;

	pollux_config_init(&config);
	config.samples = SAMPLES;
	config.epochs = 2;
	config.batch = 9;
	config.quiet = true;
	config.checkpoint_dir = job->dir;
	config.checkpoint_every_s = 0;
	return config;
}

static void run(struct job *job, int (*does)(struct crew_rank *rank))
{
	const struct pollux_config config = usual(job);
	struct crew crew = { .ranks = RANKS };
	bool failed;

	/* A rank whose run has failed is no success either. */
	failed = crew_run(&crew, &config, does, job) != 0;
	assert_true(failed == (job->sentence[0] != 0));
	assert_false(crew.mixed);
}

static void ranks_that_are_alike_are_saved(void **state)
{
	struct job *job = *state;

	run(job, work);
	assert_string_equal("", job->sentence);
}

static void the_first_array_that_differs_is_named(void **state)
{
	struct job *job = *state;

	job->apart = 0.5F;
	run(job, work);
	assert_string_equal("\"second\" differs between rank 0 and rank 2 at "
			    "step 3: the ranks train apart, and this is not "
			    "saved",
			    job->sentence);
}

static void rounding_is_no_difference(void **state)
{
	struct job *job = *state;

	job->apart = 1e-6F;
	run(job, work);
	assert_string_equal("", job->sentence);
}

static void for_integers_any_difference_counts(void **state)
{
	struct job *job = *state;

	job->integers = true;
	run(job, work);
	assert_non_null(strstr(job->sentence, "\"third\" differs"));
}

/* ---- beside the gradient ---- */

static int beside(struct crew_rank *rank)
{
	struct job *job = rank->user;
	struct state s = { .first = { 1 } };
	struct pollux_pass pass;
	float number = (float) rank->rank;
	float gradient = 1;
	int word = 7 + rank->rank;
	float scaled = 8;

	if (set_up(rank, &s) < 0 || pollux_loss_scale(rank->p, 4) < 0 ||
	    pollux_next(rank->p, &pass) != 1 ||
	    pollux_mean(rank->p, &scaled, 1, POLLUX_HOST) < 0 ||
	    pollux_reduce(rank->p, &gradient, 1, 1) < 0 ||
	    pollux_loss_scale(rank->p, 1) < 0 ||
	    pollux_spread(rank->p, &word, sizeof(word), POLLUX_HOST) < 0 ||
	    pollux_commit(rank->p) < 0 || pollux_next(rank->p, &pass) != 1 ||
	    pollux_mean(rank->p, &number, 1, POLLUX_HOST) < 0)
		return -1;
	job->spread[rank->rank] = word;
	if (rank->rank == 1)
		job->mean = number + (scaled - 2);
	return 0;
}

static void a_mean_is_over_samples_and_a_word_is_rank_0s(void **state)
{
	struct job *job = *state;

	run(job, beside);
	assert_true(fabsf(job->mean - 1) < 1e-6F);
	for (int r = 0; r < RANKS; r++)
		assert_int_equal(7, job->spread[r]);
}

/* NUMBERS are more than are sent at a time. */
static int sum_up(struct crew_rank *rank)
{
	struct job *job = rank->user;
	struct state s = { .first = { 1 } };
	static double numbers[RANKS][NUMBERS];
	double *own = numbers[rank->rank];
	struct pollux_pass pass;
	float gradient = 1;

	if (set_up(rank, &s) < 0)
		return -1;
	for (int i = 0; i < NUMBERS; i++)
		own[i] = i + 1e-12 * (rank->rank + 1);
	if (pollux_sum(rank->p, own, NUMBERS) < 0 || /* between steps */
	    pollux_next(rank->p, &pass) != 1 ||
	    pollux_sum(rank->p, own, 1) < 0 || /* before the gradient */
	    pollux_reduce(rank->p, &gradient, 1, 1) < 0 ||
	    pollux_sum(rank->p, own, 1) < 0 || /* before the commit */
	    pollux_commit(rank->p) < 0 || pollux_finish(rank->p) < 0 ||
	    pollux_sum(rank->p, own, 1) < 0) /* when all is over */
		return -1;
	job->summed[rank->rank][0] = own[0];
	job->summed[rank->rank][1] = own[NUMBERS - 1];
	return 0;
}

static void doubles_are_summed_wherever_no_gradient_is(void **state)
{
	struct job *job = *state;
	double shares = 1e-12 * RANKS * (RANKS + 1) / 2;

	run(job, sum_up);
	for (int r = 0; r < RANKS; r++) {
		double whole = job->summed[r][1];

		assert_true(fabs(job->summed[r][0] -
				 shares * RANKS * RANKS * RANKS) < 1e-20);
		assert_true(fabs(whole - RANKS * (NUMBERS - 1.0) - shares) <
			    1e-11);
		assert_true(whole == job->summed[0][1]);
	}
}

static int sum_unlike(struct crew_rank *rank)
{
	struct job *job = rank->user;
	struct state s = { .first = { 1 } };
	double numbers[2] = { 1, 2 };

	if (set_up(rank, &s) < 0)
		return -1;
	job->refused[rank->rank] =
		pollux_sum(rank->p, numbers, rank->rank == 1 ? 1 : 2) ==
			POLLUX_EINVAL &&
		!strcmp(pollux_error(rank->p),
			"pollux_sum(): rank 1 sums 1 numbers, rank 0 2");
	return 0;
}

static void sums_of_unlike_counts_fail_on_all_ranks(void **state)
{
	struct job *job = *state;

	run(job, sum_unlike);
	for (int r = 0; r < RANKS; r++)
		assert_true(job->refused[r]);
}

static int end_early(struct crew_rank *rank)
{
	struct job *job = rank->user;
	struct state s = { .first = { 1 } };
	struct pollux_pass pass;
	struct pollux_info info;
	float gradient = 1;

	if (set_up(rank, &s) < 0)
		return -1;
	info.size = sizeof(info);
	pollux_info(rank->p, &info);
	if (rank->rank == 0) {
		job->restored = info.restored;
		job->begun_at = info.step;
	}
	for (int i = 0; i < job->steps; i++) {
		if (pollux_next(rank->p, &pass) != 1 ||
		    pollux_reduce(rank->p, &gradient, 1, 1) < 0 ||
		    pollux_commit(rank->p) < 0)
			return -1;
	}
	if (!job->between && pollux_next(rank->p, &pass) != 1)
		return -1;
	job->finished[rank->rank] = pollux_finish(rank->p) == 0;
	return 0;
}

static void an_early_end_leaves_a_checkpoint(void **state)
{
	struct job *job = *state;

	run(job, end_early);
	for (int r = 0; r < RANKS; r++)
		assert_true(job->finished[r]);
	assert_false(job->restored);
	job->between = true;
	run(job, end_early);
	assert_true(job->restored);
	assert_int_equal(4, job->begun_at);
	run(job, end_early);
	assert_int_equal(8, job->begun_at);
}

/* ---- who is left ---- */

/* Rank 2 saves alone, as when both others are lost. */
static int left_alone(struct crew_rank *rank)
{
	struct job *job = rank->user;
	struct state s = { .first = { 1 } };
	int rc = set_up(rank, &s);

	if (rank->rank == 0)
		job->measured = plx_profile_largest(&rank->p->profile).gpus;
	for (int i = 0; rc == 0 && i < job->steps; i++) {
		usleep(2000); /* rank 0 does not ask at each of shorter steps */
		rc = one_step(rank, &s, false);
	}
	return rc == 0 && rank->rank == 2 ? plx_rescue(rank->p) : rc;
}

static void whoever_rescues_knows_what_rank_0_measured(void **state)
{
	struct job *job = *state;

	job->steps = 20;
	run(job, left_alone);
	assert_int_equal(0, job->measured);
	job->steps = 0;
	run(job, left_alone);
	assert_int_equal(RANKS, job->measured);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(ranks_that_are_alike_are_saved,
						setup, teardown),
		cmocka_unit_test_setup_teardown(
			the_first_array_that_differs_is_named, setup, teardown),
		cmocka_unit_test_setup_teardown(rounding_is_no_difference,
						setup, teardown),
		cmocka_unit_test_setup_teardown(
			for_integers_any_difference_counts, setup, teardown),
		cmocka_unit_test_setup_teardown(
			a_mean_is_over_samples_and_a_word_is_rank_0s, setup,
			teardown),
		cmocka_unit_test_setup_teardown(
			doubles_are_summed_wherever_no_gradient_is, setup,
			teardown),
		cmocka_unit_test_setup_teardown(
			sums_of_unlike_counts_fail_on_all_ranks, setup,
			teardown),
		cmocka_unit_test_setup_teardown(
			an_early_end_leaves_a_checkpoint, setup, teardown),
		cmocka_unit_test_setup_teardown(
			whoever_rescues_knows_what_rank_0_measured, setup,
			teardown),
	};

	alarm(60);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
