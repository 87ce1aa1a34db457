/* SPDX-License-Identifier: MIT */
/* test_polls.c - when the job's record is looked at next */

#include <math.h>

#include "launcher/rules/polls.h"
#include "unit.h"

#define CALM_S 30.0

/* Made, and come at once, at now_s; the pause to the next one. */
static double pause_after(struct plx_polls *looks, double now_s, bool awaits)
{
	assert_true(plx_polls_begin(looks, fmax(now_s, looks->due_s)));
	plx_polls_came(looks, now_s, awaits, CALM_S);
	return looks->due_s - now_s;
}

static void assert_about(double want_s, double pause_s)
{
	assert_true(pause_s >= want_s - 1e-9);
	assert_true(pause_s <= want_s * (1 + PLX_POLLS_JITTER) + 1e-9);
}

static void an_answer_is_looked_for_rarer_each_time(void **state)
{
	static const double want_s[] = { 0.1, 0.2, 0.4, 0.8, 1.6, 3.2, 5, 5 };
	struct plx_polls looks = { .seed = 7 };

	(void) state;
	for (size_t i = 0; i < ARRAY_SIZE(want_s); i++)
		assert_about(want_s[i], pause_after(&looks, 100, true));
	plx_polls_anew(&looks);
	assert_about(0.1, pause_after(&looks, 100, true));
}

static void who_awaits_nothing_looks_twice_a_minute(void **state)
{
	struct plx_polls looks = { .seed = 7 };
	double now_s = 0;
	int count = 0;

	(void) state;
	for (; now_s < 3600; count++)
		now_s += pause_after(&looks, now_s, false);
	assert_true(count <= 120 && count >= 100);
}

static void a_hundred_launchers_do_not_look_at_once(void **state)
{
	int within[6] = { 0 };

	(void) state;
	for (uint32_t job = 1; job <= 100; job++) {
		struct plx_polls looks = { .seed = job * 2654435761U };
		double pause_s = pause_after(&looks, 0, false) - CALM_S;

		within[(int) fmin(pause_s, 5)]++;
	}
	for (int i = 0; i < 6; i++)
		assert_true(within[i] >= 5 && within[i] <= 40);
}

static void who_is_told_looks_at_once_also_while_a_look_is_made(void **state)
{
	struct plx_polls looks = { .seed = 7 };

	(void) state;
	assert_about(30, pause_after(&looks, 100, false));
	assert_false(plx_polls_begin(&looks, 101));
	plx_polls_at_once(&looks);
	assert_true(plx_polls_begin(&looks, 101));
	assert_false(plx_polls_begin(&looks, 1e9));
	/* What is under way may be from before. */
	plx_polls_at_once(&looks);
	plx_polls_came(&looks, 101, false, CALM_S);
	assert_true(plx_polls_begin(&looks, 101));
	/* The same when it comes to nothing. */
	plx_polls_at_once(&looks);
	plx_polls_failed(&looks, 101, false);
	assert_true(plx_polls_begin(&looks, 101));
}

static void a_look_can_be_had_sooner_but_not_later(void **state)
{
	struct plx_polls looks = { .due_s = 50 };

	(void) state;
	plx_polls_by(&looks, 60);
	assert_true(looks.due_s == 50);
	plx_polls_by(&looks, 40);
	assert_true(looks.due_s == 40);
}

static void while_slurmctld_is_away_it_is_asked_ever_rarer(void **state)
{
	static const double want_s[] = { 0.5, 1, 2, 4, 8, 16, 30, 30 };
	struct plx_polls looks = { .seed = 7 };

	(void) state;
	for (size_t i = 0; i < ARRAY_SIZE(want_s); i++) {
		looks.due_s = INFINITY;
		plx_polls_failed(&looks, 100, false);
		assert_about(want_s[i], looks.due_s - 100);
	}
	/* Who has to know does not wait that long. */
	plx_polls_failed(&looks, 100, true);
	assert_about(5, looks.due_s - 100);
	assert_about(30, pause_after(&looks, 200, false));
	plx_polls_failed(&looks, 300, false);
	assert_about(0.5, looks.due_s - 300);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_answer_is_looked_for_rarer_each_time),
		cmocka_unit_test(who_awaits_nothing_looks_twice_a_minute),
		cmocka_unit_test(a_hundred_launchers_do_not_look_at_once),
		cmocka_unit_test(
			who_is_told_looks_at_once_also_while_a_look_is_made),
		cmocka_unit_test(a_look_can_be_had_sooner_but_not_later),
		cmocka_unit_test(
			while_slurmctld_is_away_it_is_asked_ever_rarer),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
