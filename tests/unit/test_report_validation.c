/* SPDX-License-Identifier: MIT */
/*
 * test_report_validation.c - claims are held against each other and against
 * what is seen
 */

#include <math.h>
#include <string.h>

#include "core/jobs/report_validation.h"
#include "core/problem/objective.h"
#include "unit.h"

enum { SECOND_LOOK = 5 };

/* A job that trains on four GPUs of one node, looked at every 5 seconds. */
struct story {
	struct plx_validation validation;
	struct plx_claim claim;
	struct plx_hint hint;
	double rate; /* samples a second, as its model says */
	int changes; /* of how far it is believed */
};

static void begin(struct story *s)
{
	memset(s, 0, sizeof(*s));
	s->hint = (struct plx_hint){
		.job = {
			.model = { 0.05, 0.002, 0.1, 0.01, 0.02, 0.001, 1.5 },
			.noise = { 1, 20 },
			.limits = { 128, 4096, 8, 256, true },
		},
		.profiled = { 1, 4 },
		.now = { 32, 0 },
		.restart_s = 30,
	};
	s->claim = (struct plx_claim){
		.now_s = 1000,
		.shape = { 1, 4 },
		.shape_s = 3600,
		.runs = true,
		.training = true,
		.hint = &s->hint,
	};
	assert_true(
		plx_batch_best(&s->hint.job, s->claim.shape, NULL, &s->rate));
	s->hint.samples_left = 1e5 * s->rate;
	s->hint.speed =
		plx_throughput(&s->hint.job.model, s->claim.shape, s->hint.now);
}

/* Time passes; the job tells that it does `done` of what it promises. */
static void go_on(struct story *s, double seconds, double done)
{
	for (double t = 0; t < seconds; t += SECOND_LOOK) {
		s->changes += plx_validation_check(&s->validation, &s->claim);
		s->claim.now_s += SECOND_LOOK;
		s->hint.samples_left -= done * s->rate * SECOND_LOOK;
	}
}

static void an_honest_job_is_believed(void **state)
{
	struct story s;

	(void) state;
	begin(&s);
	go_on(&s, 7200, 0.8);
	assert_int_equal(PLX_STRIKES_NONE, s.validation.strikes);
	assert_int_equal(0, s.changes);
}

static void one_whose_end_never_comes_nearer_is_doubted(void **state)
{
	struct story s;

	(void) state;
	begin(&s);
	s.hint.samples_left = 100 * s.rate;
	go_on(&s, PLX_VALIDATION_WINDOW_S - SECOND_LOOK, 0);
	assert_int_equal(PLX_STRIKES_NONE, s.validation.strikes);
	go_on(&s, 4 * SECOND_LOOK, 0);
	assert_int_equal(PLX_STRIKES_ONE, s.validation.strikes);
	go_on(&s, PLX_VALIDATION_WINDOW_S + SECOND_LOOK, 0);
	assert_int_equal(PLX_STRIKES_TWO, s.validation.strikes);
	assert_non_null(strstr(s.validation.why, "does not fall"));
}

/* By a quarter each window: it gets ever smaller, and never ends. */
static void one_that_nears_its_end_for_ever_is_doubted(void **state)
{
	struct story s;

	(void) state;
	begin(&s);
	s.hint.samples_left = 100 * s.rate;
	for (int i = 0; i < 10; i++) {
		go_on(&s, PLX_VALIDATION_WINDOW_S, 0);
		s.hint.samples_left *= 0.7;
	}
	assert_int_equal(PLX_STRIKES_TWO, s.validation.strikes);
}

static void not_to_tell_for_a_while_does_not_help(void **state)
{
	struct story s;

	(void) state;
	begin(&s);
	for (int i = 0; i < 10; i++) {
		s.hint.samples_left = 10 * s.rate;
		go_on(&s, PLX_VALIDATION_WINDOW_S / 4, 0);
		s.hint.samples_left = 0;
		go_on(&s, 2 * SECOND_LOOK, 0);
	}
	assert_int_not_equal(PLX_STRIKES_NONE, s.validation.strikes);
}

/* What it promises has to come, whatever it says that it does. */
static void to_say_that_it_saves_does_not_help(void **state)
{
	struct story s;

	(void) state;
	begin(&s);
	s.hint.samples_left = 100 * s.rate;
	s.claim.training = false;
	go_on(&s, PLX_VALIDATION_WINDOW_S + 4 * SECOND_LOOK, 0);
	assert_int_equal(PLX_STRIKES_ONE, s.validation.strikes);
}

/* Nor to do so every other time that somebody looks. */
static void to_flap_does_not_help(void **state)
{
	struct story s;

	(void) state;
	begin(&s);
	s.hint.samples_left = 100 * s.rate;
	for (int i = 0; i < 70; i++) {
		s.claim.training = i % 2;
		go_on(&s, SECOND_LOOK, 0);
	}
	assert_int_equal(PLX_STRIKES_ONE, s.validation.strikes);
}

static void ranks_have_time_to_start_on_a_new_shape(void **state)
{
	struct story s;

	(void) state;
	begin(&s);
	s.hint.samples_left = 100 * s.rate;
	s.claim.training = false;
	for (int i = 0; i < 100; i++) {
		s.claim.shape_s = i % 2 ? PLX_VALIDATION_RESTART_S - 1 : 0;
		go_on(&s, SECOND_LOOK, 0);
	}
	assert_int_equal(0, s.changes);
	s.claim.shape.gpus = 0; /* parked */
	s.claim.shape_s = 36000;
	go_on(&s, 3600, 0);
	assert_int_equal(0, s.changes);
}

static void a_restart_from_a_checkpoint_is_no_lie(void **state)
{
	struct story s;

	(void) state;
	begin(&s);
	go_on(&s, 3000, 1);
	s.hint.samples_left += 600 * s.rate;
	go_on(&s, 3000, 1);
	assert_true(s.validation.strikes <= PLX_STRIKES_ONE);
}

/*
 * The efficiency of a young job's batches is a guess, and what is left with it.
 */
static void more_left_than_before_is_no_lie(void **state)
{
	struct story s;

	(void) state;
	begin(&s);
	s.hint.samples_left = 1000 * s.rate;
	go_on(&s, 60, 1);
	s.hint.samples_left = 1e6 * s.rate;
	go_on(&s, SECOND_LOOK, 1);
	assert_int_equal(PLX_STRIKES_NONE, s.validation.strikes);
}

static void a_model_faster_than_its_job_is_doubted(void **state)
{
	struct story s;

	(void) state;
	begin(&s);
	s.hint.samples_left = 0;
	s.hint.speed /= 5;
	go_on(&s, 60, 1);
	assert_int_equal(PLX_STRIKES_NONE, s.validation.strikes);
	go_on(&s, 120, 1);
	assert_int_equal(PLX_STRIKES_ONE, s.validation.strikes);
}

static void leaps_are_contradictions(void **state)
{
	struct story s;

	(void) state;
	begin(&s);
	go_on(&s, 60, 1);
	s.hint.job.noise.var *= 100;
	go_on(&s, SECOND_LOOK, 1);
	assert_string_equal("its noise scale leaps", s.validation.why);
	begin(&s);
	go_on(&s, 60, 1);
	s.hint.speed *= 20;
	go_on(&s, SECOND_LOOK, 1);
	assert_string_equal("its speed leaps", s.validation.why);
}

static void who_waits_or_is_suspended_need_not_progress(void **state)
{
	struct story s;

	(void) state;
	begin(&s);
	go_on(&s, 60, 1);
	s.claim.runs = false;
	go_on(&s, 36000, 0);
	s.claim.runs = true;
	go_on(&s, 7200, 1);
	assert_int_equal(0, s.changes);
	assert_true(s.validation.pause_s == 0);
}

static void after_an_hour_a_job_is_believed_again(void **state)
{
	struct story s;

	(void) state;
	begin(&s);
	go_on(&s, 60, 1);
	s.hint.job.noise.var *= 100;
	go_on(&s, PLX_VALIDATION_DECAY_S, 1);
	assert_int_equal(PLX_STRIKES_ONE, s.validation.strikes);
	go_on(&s, 2 * SECOND_LOOK, 1);
	assert_int_equal(PLX_STRIKES_NONE, s.validation.strikes);
	assert_null(s.validation.why);
	assert_int_equal(2, s.changes);
}

/* But later each time. */
static void a_strike_decays_more_slowly_each_time(void **state)
{
	struct story s;

	(void) state;
	begin(&s);
	for (int i = 0; i < 3; i++) {
		go_on(&s, 60, 1);
		s.hint.job.noise.var *= i % 2 ? 0.01 : 100;
		go_on(&s, 60, 1);
		assert_int_equal(PLX_STRIKES_ONE, s.validation.strikes);
		go_on(&s, (1 << i) * PLX_VALIDATION_DECAY_S - 120, 1);
		assert_int_equal(PLX_STRIKES_ONE, s.validation.strikes);
		go_on(&s, 120, 1);
		assert_int_equal(PLX_STRIKES_NONE, s.validation.strikes);
	}
}

/* However often it contradicts itself, there is little to log. */
static void a_noisy_liar_changes_little(void **state)
{
	struct story s;

	(void) state;
	begin(&s);
	for (int i = 0; i < 2000; i++) {
		s.hint.job.noise.var = i % 2 ? 1e6 : 1;
		go_on(&s, SECOND_LOOK, 1);
	}
	assert_int_equal(PLX_STRIKES_TWO, s.validation.strikes);
	assert_int_equal(2, s.changes);
}

static struct plx_job applied(const struct story *s, int most_gpus)
{
	struct plx_job job = {
		.profiled = true,
		.profiled_gpus = 4096,
		.samples_left = 1000,
		.restart_s = 3600,
	};

	plx_validation_apply(&s->validation, most_gpus, &job);
	return job;
}

static void only_what_was_held_was_measured(void **state)
{
	struct story s;

	(void) state;
	begin(&s);
	assert_int_equal(8, applied(&s, 8).profiled_gpus);
	assert_int_equal(1, applied(&s, 0).profiled_gpus);
	assert_true(applied(&s, 8).samples_left == 1000);
}

static void restart_costs_are_believed_as_far_as_resizes_took(void **state)
{
	struct story s;

	(void) state;
	begin(&s);
	assert_true(applied(&s, 1).restart_s == PLX_VALIDATION_RESTART_S);
	go_on(&s, 60, 1);
	s.claim.resized = true;
	go_on(&s, 140, 0);
	s.claim.resized = false;
	s.claim.training = false;
	s.claim.shape_s = 0;
	go_on(&s, 60, 0);
	s.claim.training = true;
	go_on(&s, SECOND_LOOK, 1);
	assert_true(s.validation.pause_s == 200);
	assert_true(applied(&s, 1).restart_s == 800);
}

static void a_resize_that_a_suspension_cuts_short_tells_nothing(void **state)
{
	struct story s;

	(void) state;
	begin(&s);
	go_on(&s, 60, 1);
	s.claim.resized = true;
	go_on(&s, 20, 0);
	s.claim.runs = false;
	go_on(&s, 36000, 0);
	s.claim.runs = true;
	s.claim.resized = false;
	go_on(&s, 60, 1);
	assert_true(s.validation.pause_s == 0);
	/* Nor one that ends with the job parked. */
	s.claim.resized = true;
	go_on(&s, 20, 0);
	s.claim.shape.gpus = 0;
	go_on(&s, 36000, 0);
	s.claim.shape.gpus = 4;
	s.claim.resized = false;
	go_on(&s, 60, 1);
	assert_true(s.validation.pause_s == 0);
}

static void strikes_take_away_what_was_claimed(void **state)
{
	struct story s;

	(void) state;
	begin(&s);
	s.validation.strikes = PLX_STRIKES_ONE;
	assert_true(applied(&s, 4).samples_left == PLX_LEFT_LAST);
	assert_true(applied(&s, 4).restart_s == 10);
	assert_true(applied(&s, 4).profiled);
	s.validation.strikes = PLX_STRIKES_TWO;
	assert_false(applied(&s, 4).profiled);
	assert_int_equal(1, applied(&s, 4).profiled_gpus);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_honest_job_is_believed),
		cmocka_unit_test(one_whose_end_never_comes_nearer_is_doubted),
		cmocka_unit_test(one_that_nears_its_end_for_ever_is_doubted),
		cmocka_unit_test(not_to_tell_for_a_while_does_not_help),
		cmocka_unit_test(to_say_that_it_saves_does_not_help),
		cmocka_unit_test(to_flap_does_not_help),
		cmocka_unit_test(ranks_have_time_to_start_on_a_new_shape),
		cmocka_unit_test(a_restart_from_a_checkpoint_is_no_lie),
		cmocka_unit_test(more_left_than_before_is_no_lie),
		cmocka_unit_test(a_model_faster_than_its_job_is_doubted),
		cmocka_unit_test(leaps_are_contradictions),
		cmocka_unit_test(who_waits_or_is_suspended_need_not_progress),
		cmocka_unit_test(after_an_hour_a_job_is_believed_again),
		cmocka_unit_test(a_strike_decays_more_slowly_each_time),
		cmocka_unit_test(a_noisy_liar_changes_little),
		cmocka_unit_test(only_what_was_held_was_measured),
		cmocka_unit_test(
			restart_costs_are_believed_as_far_as_resizes_took),
		cmocka_unit_test(strikes_take_away_what_was_claimed),
		cmocka_unit_test(
			a_resize_that_a_suspension_cuts_short_tells_nothing),
	};

	return cmocka_run_group_tests_name("report_validation", tests, NULL,
					   NULL);
}
