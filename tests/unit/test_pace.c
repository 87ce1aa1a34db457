/* SPDX-License-Identifier: MIT */
/* test_pace.c - how often the hint is written into the job's record */

#include <string.h>

#include "launcher/rules/pace.h"
#include "unit.h"

#define DAY_S  86400.0
#define LOOK_S 2.0 /* between hints */

static struct plx_hint hint_of(double left, double speed)
{
	return (struct plx_hint){
		.job = {
			.model = { .alpha_c = 0.01, .beta_c = 0.001,
				   .alpha_r = 0.01, .gamma = 2 },
			.noise = { .sqr = 1, .var = 10 },
			.limits = { .base_batch = 64, .max_batch = 4096,
				    .min_per_gpu = 1, .max_per_gpu = 256 },
		},
		.profiled = { .nodes = 1, .gpus = 4 },
		.now = { .per_gpu = 64 },
		.samples_left = left,
		.speed = speed,
		.goodput = speed,
	};
}

/* As the launcher does. */
static bool tell(struct plx_pace *pace, const struct plx_hint *hint,
		 double now_s)
{
	if (!plx_pace_due(pace, hint, now_s))
		return false;
	plx_pace_written(pace, hint, now_s);
	return true;
}

static void the_first_hint_is_written_at_once(void **state)
{
	struct plx_pace pace = { 0 };
	struct plx_hint hint = hint_of(1e6, 100);

	(void) state;
	plx_pace_written(&pace, NULL, 10);
	assert_true(tell(&pace, &hint, 11));
	assert_false(tell(&pace, &hint, 13));
}

static void what_changed_is_written_at_once(void **state)
{
	struct plx_pace pace = { 0 };
	struct plx_hint hint = hint_of(1e6, 100);

	(void) state;
	assert_true(tell(&pace, &hint, 10));
	hint.speed = 110;
	assert_false(tell(&pace, &hint, 12));
	hint.speed = 130;
	assert_true(tell(&pace, &hint, 14));
	hint.profiled.gpus = 8;
	assert_true(tell(&pace, &hint, 16));
	hint.job.model.alpha_c *= 1.5;
	hint.job.model.beta_c *= 1.5;
	assert_true(tell(&pace, &hint, 18));
	hint.samples_left /= 2;
	assert_true(tell(&pace, &hint, 20));
	assert_false(tell(&pace, &hint, 22));
	hint.job.model.alpha_n = 0.02;
	(void) tell(&pace, &hint, 24);
	hint.job.model.per_switch = 30;
	assert_true(tell(&pace, &hint, 26));
	assert_false(tell(&pace, &hint, 28));
}

static void what_did_not_is_written_every_half_minute(void **state)
{
	struct plx_pace pace = { 0 };
	int writes = 0;

	(void) state;
	for (double t = 10; t < 130; t += LOOK_S) {
		struct plx_hint hint = hint_of(1e6 - t, 100);

		writes += tell(&pace, &hint, t);
	}
	assert_int_equal(4, writes);
}

/* The speed of the worst of all machines: it is never twice the same. */
static int writes_of_a_day(double *last_quiet_s)
{
	struct plx_pace pace = { 0 };
	double told_s = 0;
	int writes = 0;

	*last_quiet_s = 0;
	for (double t = 10; t < 10 + DAY_S; t += LOOK_S) {
		struct plx_hint hint =
			hint_of(1e9, (int) (t / LOOK_S) % 2 ? 100 : 200);

		if (!tell(&pace, &hint, t))
			continue;
		if (told_s && t - told_s > *last_quiet_s)
			*last_quiet_s = t - told_s;
		told_s = t;
		writes++;
	}
	return writes;
}

static void a_day_has_no_more_writes_than_promised(void **state)
{
	double quiet_s = 0;
	int writes = writes_of_a_day(&quiet_s);

	(void) state;
	assert_true(writes <= PLX_PACE_MOST(DAY_S));
	assert_true(writes > PLX_PACE_MOST(DAY_S) - 2);
	assert_true(quiet_s <= PLX_PACE_TOKEN_S + LOOK_S);
}

static void a_calm_day_as_well(void **state)
{
	struct plx_pace pace = { 0 };
	int writes = 0;

	(void) state;
	for (double t = 10; t < 10 + DAY_S; t += LOOK_S) {
		struct plx_hint hint = hint_of(2 * DAY_S - t, 100);

		writes += tell(&pace, &hint, t);
	}
	assert_true(writes <= PLX_PACE_MOST(DAY_S));
	assert_true(writes >= DAY_S / PLX_PACE_TOKEN_S - 2);
}

static void ranks_that_train_anew_are_heard_at_once(void **state)
{
	struct plx_pace pace = { 0 };
	struct plx_hint hint = hint_of(1e6, 100);
	double t = 10;

	(void) state;
	for (int i = 0; i < 100; i++, t += LOOK_S) {
		hint.speed = i % 2 ? 100 : 200;
		(void) tell(&pace, &hint, t);
	}
	hint.speed = pace.hint.speed / 4;
	assert_false(tell(&pace, &hint, t));
	plx_pace_anew(&pace);
	assert_true(tell(&pace, &hint, t));
}

static void a_clock_that_stands_still_gives_nothing(void **state)
{
	struct plx_pace pace = { 0 };
	struct plx_hint hint = hint_of(1e6, 100);
	int writes = 0;

	(void) state;
	for (int i = 0; i < 1000; i++) {
		hint.speed = i % 2 ? 100 : 200;
		writes += tell(&pace, &hint, 10);
	}
	assert_int_equal(PLX_PACE_TOKENS, writes);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_first_hint_is_written_at_once),
		cmocka_unit_test(what_changed_is_written_at_once),
		cmocka_unit_test(what_did_not_is_written_every_half_minute),
		cmocka_unit_test(a_day_has_no_more_writes_than_promised),
		cmocka_unit_test(a_calm_day_as_well),
		cmocka_unit_test(ranks_that_train_anew_are_heard_at_once),
		cmocka_unit_test(a_clock_that_stands_still_gives_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
