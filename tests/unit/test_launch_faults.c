/* SPDX-License-Identifier: MIT */
/* test_launch_faults.c - hanging, failing again and again, being replaced */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "launcher/rules/backoff.h"
#include "launcher/rules/hang.h"
#include "launcher/loop/folder_lock.h"
#include "unit.h"

/* ---- hang.h ---- */

static void silence_counts_from_the_last_beat(void **state)
{
	struct plx_hang hang = { 0 };

	(void) state;
	plx_hang_begin(&hang, 100);
	plx_hang_beat(&hang, 101);
	assert_true(plx_hang_due_s(&hang, 5) == 106);
	plx_hang_beat(&hang, 103);
	assert_true(plx_hang_due_s(&hang, 5) == 108);
}

static void before_the_first_step_there_is_more_time(void **state)
{
	struct plx_hang hang = { 0 };

	(void) state;
	plx_hang_begin(&hang, 100);
	assert_true(plx_hang_due_s(&hang, 5) == 700);
	assert_true(plx_hang_due_s(&hang, 1000) == 1100);
}

static bool excused(enum plx_pulse_at at, double since_s, double quiet_s)
{
	const struct plx_pulse pulse = {
		.at = at,
		.since_s = since_s,
		.quiet_s = quiet_s,
	};

	return plx_hang_excused(&pulse, 120);
}

static void a_rank_that_waits_excuses_nothing(void **state)
{
	(void) state;
	assert_false(excused(PLX_AT_WAITING, 1, 0));
}

static void a_step_that_computes_may_take_five_times_as_long(void **state)
{
	(void) state;
	assert_true(excused(PLX_AT_STEP, 599, 1));
	assert_false(excused(PLX_AT_STEP, 601, 1));
	assert_false(excused(PLX_AT_STEP, 200, 121));
}

static void between_steps_there_is_half_an_hour_and_four_at_work(void **state)
{
	(void) state;
	assert_true(excused(PLX_AT_BETWEEN, 1799, 1799));
	assert_false(excused(PLX_AT_BETWEEN, 1801, 1801));
	assert_true(excused(PLX_AT_BETWEEN, 14399, 1));
	assert_false(excused(PLX_AT_BETWEEN, 14401, 1));
}

static void who_says_that_it_is_busy_is_believed(void **state)
{
	(void) state;
	assert_true(excused(PLX_AT_BUSY, 100000, 1799));
	assert_false(excused(PLX_AT_BUSY, 100000, 1801));
}

/* As long as it likes, where its steps go on. */
static void who_holds_is_waited_for_while_its_steps_go_on(void **state)
{
	struct plx_hang hang = { 0 };
	struct plx_pulse pulse = { .at = PLX_AT_STEP, .hold_s = 100000 };
	double limit_s = plx_hang_limit_s(&hang, 60);

	(void) state;
	pulse.since_s = 3;
	assert_true(plx_hang_holds(&pulse, limit_s));
	pulse.since_s = 601; /* no step was made yet */
	assert_false(plx_hang_holds(&pulse, limit_s));
	plx_hang_begin(&hang, 1);
	plx_hang_beat(&hang, 2);
	pulse.since_s = 61;
	assert_false(plx_hang_holds(&pulse, plx_hang_limit_s(&hang, 60)));
	assert_true(
		plx_hang_holds(&pulse, plx_hang_limit_s(&hang, PLX_HANG_OFF)));
	pulse.hold_s = 0;
	pulse.since_s = 1;
	assert_false(plx_hang_holds(&pulse, 60));
}

static void a_validation_is_no_measure_of_a_step(void **state)
{
	struct plx_hang hang = { 0 };

	(void) state;
	plx_hang_begin(&hang, 100);
	plx_hang_beat(&hang, 101);
	plx_hang_busy(&hang, 400);
	plx_hang_beat(&hang, 401);
	assert_true(plx_hang_due_s(&hang, PLX_HANG_AUTO) == 521);
}

static void nothing_hangs_when_nothing_is_awaited(void **state)
{
	struct plx_hang hang = { 0 };

	(void) state;
	assert_true(plx_hang_due_s(&hang, 5) == 0);
	plx_hang_begin(&hang, 100);
	plx_hang_beat(&hang, 101);
	assert_true(plx_hang_due_s(&hang, PLX_HANG_OFF) == 0);
	plx_hang_end(&hang);
	assert_true(plx_hang_due_s(&hang, 5) == 0);
}

static void slow_steps_are_waited_for(void **state)
{
	struct plx_hang hang = { 0 };

	(void) state;
	plx_hang_begin(&hang, 100);
	plx_hang_beat(&hang, 200);
	assert_true(plx_hang_due_s(&hang, PLX_HANG_AUTO) == 320);
	plx_hang_beat(&hang, 230);
	assert_true(plx_hang_due_s(&hang, PLX_HANG_AUTO) == 530);
	/* Over the next start as well, but its pause is no step. */
	plx_hang_end(&hang);
	plx_hang_begin(&hang, 1000);
	plx_hang_beat(&hang, 1100);
	assert_true(plx_hang_due_s(&hang, PLX_HANG_AUTO) == 1400);
}

/* ---- backoff.h ---- */

/* A second is common; a step of ten makes eleven common, for a while. */
static void an_odd_silence_is_longer_than_those_of_late(void **state)
{
	struct plx_hang hang = { 0 };
	double now_s = 210;

	(void) state;
	assert_true(plx_hang_odd_s(&hang) == 0);
	plx_hang_begin(&hang, 100);
	assert_true(plx_hang_odd_s(&hang) == 105);
	plx_hang_beat(&hang, 200);
	assert_float_equal(201.3, plx_hang_odd_s(&hang), 1e-9);
	plx_hang_beat(&hang, 210);
	assert_float_equal(225, plx_hang_odd_s(&hang), 1e-9);
	for (int i = 0; i < 20; i++)
		plx_hang_beat(&hang, ++now_s);
	assert_float_equal(now_s + 1.5, plx_hang_odd_s(&hang), 1e-9);
	plx_hang_end(&hang);
	assert_true(plx_hang_odd_s(&hang) == 0);
}

/* One start of a program that always fails at that step. */
static bool fails_at(struct plx_backoff *b, uint64_t from, uint64_t to)
{
	for (uint64_t step = from; step <= to; step++)
		plx_backoff_reached(b, step, (double) step);
	return plx_backoff_fault(b, 3);
}

static void an_error_of_the_program_ends_it(void **state)
{
	struct plx_backoff b = { 0 };

	(void) state;
	assert_true(fails_at(&b, 1, 1000));
	/* Seen a beat later or earlier: that is no progress. */
	assert_true(fails_at(&b, 990, 1002));
	assert_true(fails_at(&b, 990, 1001));
	assert_false(fails_at(&b, 990, 1003));
}

static void faults_are_forgotten_once_training_gets_past_them(void **state)
{
	struct plx_backoff b = { 0 };

	(void) state;
	for (uint64_t step = 100; step < 100 * 20; step += 100) {
		assert_true(fails_at(&b, step - 100, step));
		assert_int_equal(1, b.faults);
	}
}

static void one_that_never_trains_is_given_up(void **state)
{
	struct plx_backoff b = { 0 };

	(void) state;
	for (int i = 0; i < 3; i++)
		assert_true(plx_backoff_fault(&b, 3));
	assert_false(plx_backoff_fault(&b, 3));
	b = (struct plx_backoff){ 0 };
	assert_false(plx_backoff_fault(&b, 0));
}

static void waits_double_up_to_a_minute(void **state)
{
	(void) state;
	assert_true(plx_backoff_wait_s(1) == 0.4);
	assert_true(plx_backoff_wait_s(3) == 1.6);
	assert_true(plx_backoff_wait_s(100) == 60);
}

/* ---- folder_lock.h ---- */

static void one_launcher_holds_a_folder(void **state)
{
	char folder[] = "/tmp/plx-hold-XXXXXX";
	char file[64];
	struct plx_folder_lock first;
	struct plx_folder_lock second;
	struct plx_error err;

	(void) state;
	assert_non_null(mkdtemp(folder));
	assert_int_equal(0, plx_folder_lock_take(&first, folder, "job 7", 0,
						 &err));
	assert_true(first.newest == 0);
	plx_folder_lock_note(&first, 12);
	assert_int_equal(-1, plx_folder_lock_take(&second, folder, "me", 0.2,
						  &err));
	assert_non_null(strstr(err.text, "pollux-launch that lives (job 7)"));
	plx_folder_lock_release(&first);

	/* The numbers go on. */
	assert_int_equal(0,
			 plx_folder_lock_take(&second, folder, "me", 0, &err));
	assert_true(second.newest == 12);
	plx_folder_lock_release(&second);
	snprintf(file, sizeof(file), "%s/launcher", folder);
	unlink(file);
	rmdir(folder);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(silence_counts_from_the_last_beat),
		cmocka_unit_test(before_the_first_step_there_is_more_time),
		cmocka_unit_test(nothing_hangs_when_nothing_is_awaited),
		cmocka_unit_test(slow_steps_are_waited_for),
		cmocka_unit_test(a_rank_that_waits_excuses_nothing),
		cmocka_unit_test(
			a_step_that_computes_may_take_five_times_as_long),
		cmocka_unit_test(
			between_steps_there_is_half_an_hour_and_four_at_work),
		cmocka_unit_test(who_says_that_it_is_busy_is_believed),
		cmocka_unit_test(who_holds_is_waited_for_while_its_steps_go_on),
		cmocka_unit_test(a_validation_is_no_measure_of_a_step),
		cmocka_unit_test(an_odd_silence_is_longer_than_those_of_late),
		cmocka_unit_test(an_error_of_the_program_ends_it),
		cmocka_unit_test(
			faults_are_forgotten_once_training_gets_past_them),
		cmocka_unit_test(one_that_never_trains_is_given_up),
		cmocka_unit_test(waits_double_up_to_a_minute),
		cmocka_unit_test(one_launcher_holds_a_folder),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
