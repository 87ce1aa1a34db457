/* SPDX-License-Identifier: MIT */
/* test_stuck.c - when a job is ended whose processes do not end */

#include "sched/pollux/job_state.h"
#include "unit.h"

/* The clock's zero is the boot of the node: no time of its own. */
#define FIRST_S 0.0
#define LEAST_S 600.0

static void one_hiccup_is_not_enough(void **state)
{
	struct pollux_stuck stuck = { 0 };

	(void) state;
	assert_false(pollux_stuck_again(&stuck, FIRST_S, LEAST_S));
}

static void nor_are_many_within_minutes(void **state)
{
	struct pollux_stuck stuck = { 0 };

	(void) state;
	for (double s = 0; s < LEAST_S; s += 45)
		assert_false(pollux_stuck_again(&stuck, FIRST_S + s, LEAST_S));
	assert_true(pollux_stuck_again(&stuck, FIRST_S + LEAST_S, LEAST_S));
}

static void nor_are_two_that_are_days_apart(void **state)
{
	struct pollux_stuck stuck = { 0 };

	(void) state;
	assert_false(pollux_stuck_again(&stuck, FIRST_S, LEAST_S));
	assert_false(pollux_stuck_again(&stuck, FIRST_S + 3 * 86400, LEAST_S));
	assert_true(
		pollux_stuck_again(&stuck, FIRST_S + 3 * 86400 + 45, LEAST_S));
}

static void another_answer_ends_the_row(void **state)
{
	struct pollux_stuck stuck = { 0 };

	(void) state;
	assert_false(pollux_stuck_again(&stuck, FIRST_S, LEAST_S));
	assert_false(pollux_stuck_again(&stuck, FIRST_S + 300, LEAST_S));
	pollux_stuck_clear(&stuck);
	/* Neither those tries nor their time count. */
	assert_false(pollux_stuck_again(&stuck, FIRST_S + 700, LEAST_S));
	assert_false(pollux_stuck_again(&stuck, FIRST_S + 900, LEAST_S));
	assert_false(pollux_stuck_again(&stuck, FIRST_S + 1200, LEAST_S));
	assert_true(pollux_stuck_again(&stuck, FIRST_S + 1300, LEAST_S));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(one_hiccup_is_not_enough),
		cmocka_unit_test(nor_are_many_within_minutes),
		cmocka_unit_test(nor_are_two_that_are_days_apart),
		cmocka_unit_test(another_answer_ends_the_row),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
