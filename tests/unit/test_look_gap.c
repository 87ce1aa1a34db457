/* SPDX-License-Identifier: MIT */
/* test_look_gap.c - looks that cost much are made seldom */

#include "sched/pollux/snapshot/look_gap.h"
#include "unit.h"

static void a_cheap_look_is_made_five_times_a_second(void **state)
{
	(void) state;
	assert_true(pollux_look_gap_s(0, false) == POLLUX_LOOK_S);
	assert_true(pollux_look_gap_s(0.001, false) == POLLUX_LOOK_S);
}

static void a_dear_one_takes_its_part_of_the_time(void **state)
{
	double gap_s = pollux_look_gap_s(0.005, false);

	(void) state;
	assert_true(gap_s > 0.49 && gap_s < 0.51);
}

static void there_is_one_a_second_whatever_it_costs(void **state)
{
	(void) state;
	assert_true(pollux_look_gap_s(0.02, false) == POLLUX_LOOK_MOST_S);
	assert_true(pollux_look_gap_s(10, false) == POLLUX_LOOK_MOST_S);
}

static void an_urgent_one_is_made_as_soon_as_a_cheap_one(void **state)
{
	(void) state;
	assert_true(pollux_look_gap_s(10, true) == POLLUX_LOOK_S);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_cheap_look_is_made_five_times_a_second),
		cmocka_unit_test(a_dear_one_takes_its_part_of_the_time),
		cmocka_unit_test(there_is_one_a_second_whatever_it_costs),
		cmocka_unit_test(an_urgent_one_is_made_as_soon_as_a_cheap_one),
	};

	return cmocka_run_group_tests_name("look_gap", tests, NULL, NULL);
}
