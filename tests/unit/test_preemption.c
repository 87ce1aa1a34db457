/* SPDX-License-Identifier: MIT */
/* test_preemption.c - for how long elastic jobs are spared */

#include <string.h>

#include "core/reserve/preemption.h"
#include "unit.h"

#define BOUND_S 60.0

enum { URGENT = 7, ELASTIC = 20, OTHER = 21, RIGID = 30 };

static struct plx_preemption *preemption;

static int begin(void **state)
{
	(void) state;
	preemption = plx_preemption_create(NULL);
	return preemption ? 0 : -1;
}

static int end(void **state)
{
	(void) state;
	plx_preemption_destroy(preemption);
	return 0;
}

/* Two jobs give, of which the first is asked or not; URGENT waits. */
static void look(double now_s, bool made, bool asked)
{
	const struct plx_giver givers[] = { { .id = ELASTIC, .asked = asked },
					    { .id = OTHER } };
	const struct plx_preemptor_seen seen[] = { { URGENT, made, 1 } };

	assert_int_equal(0, plx_preemption_look(preemption, givers, 2, seen, 1,
						now_s, NULL));
}

static bool exempts(uint32_t victim, double now_s)
{
	return plx_preemption_exempts(preemption, URGENT, victim, BOUND_S,
				      now_s);
}

static void nobody_is_spared_where_nobody_gives(void **state)
{
	(void) state;
	assert_false(exempts(ELASTIC, 100));
	assert_false(exempts(RIGID, 100));
}

static void who_gives_is_spared_until_the_bound(void **state)
{
	(void) state;
	look(90, false, false);
	assert_true(exempts(ELASTIC, 100));
	look(101, true, true);
	assert_true(exempts(ELASTIC, 101 + BOUND_S - 1));
	assert_false(exempts(ELASTIC, 101 + BOUND_S));
}

static void the_time_counts_from_when_room_is_made(void **state)
{
	(void) state;
	look(90, false, false);
	assert_true(exempts(ELASTIC, 100));
	look(100, false, false);
	assert_true(exempts(ELASTIC, 150));
	look(155, true, true);
	assert_true(exempts(ELASTIC, 155 + BOUND_S - 1));
	assert_false(exempts(ELASTIC, 155 + BOUND_S));
}

static void where_no_room_can_be_made_it_counts_from_the_question(void **state)
{
	(void) state;
	look(90, false, false);
	assert_true(exempts(ELASTIC, 100));
	for (int t = 101; t < 160; t++) {
		look(t, false, false);
		assert_true(exempts(ELASTIC, t));
	}
	assert_false(exempts(ELASTIC, 160));
}

static void room_now_and_then_does_not_prolong_it(void **state)
{
	double t = 100;

	(void) state;
	look(90, false, false);
	while (exempts(ELASTIC, t) && t < 1000) {
		t += 5;
		look(t, (int) t % 2, true);
	}
	assert_true(t <= 100 + 2 * BOUND_S);
}

static void who_does_not_answer_is_offered_first(void **state)
{
	(void) state;
	look(90, false, false);
	assert_true(exempts(ELASTIC, 100));
	assert_true(exempts(OTHER, 100));
	look(100, true, true);
	assert_false(exempts(ELASTIC, 161));
	assert_true(exempts(OTHER, 161));
	assert_false(exempts(OTHER, 161 + PLX_PREEMPTION_MORE_S));
	assert_true(plx_preemption_was_late(preemption, ELASTIC));
	assert_false(plx_preemption_was_late(preemption, OTHER));
}

static void who_answers_after_all_was_not_late(void **state)
{
	(void) state;
	look(90, false, false);
	assert_true(exempts(ELASTIC, 100));
	look(100, true, true);
	assert_false(exempts(ELASTIC, 161));
	look(162, true, false);
	assert_false(plx_preemption_was_late(preemption, ELASTIC));
}

static void rigid_jobs_are_spared_until_a_cycle_has_looked(void **state)
{
	(void) state;
	look(90, false, false);
	assert_true(exempts(RIGID, 100));
	assert_false(exempts(RIGID, 100 + PLX_PREEMPTION_LOOK_S));
	look(101, false, false);
	assert_false(exempts(RIGID, 101));
}

static void or_while_the_one_that_gives_is_being_resized(void **state)
{
	(void) state;
	look(90, false, false);
	assert_true(exempts(RIGID, 100));
	look(101, false, true);
	assert_true(exempts(RIGID, 100 + PLX_PREEMPTION_LOOK_S - 1));
	assert_false(exempts(RIGID, 100 + PLX_PREEMPTION_LOOK_S));
	look(120, false, false);
	look(121, false, true);
	assert_false(exempts(RIGID, 121));
}

static void and_as_long_as_others_make_room(void **state)
{
	(void) state;
	look(90, false, false);
	assert_true(exempts(RIGID, 100));
	look(101, true, true);
	assert_true(exempts(RIGID, 101 + BOUND_S - 1));
	assert_false(exempts(RIGID, 101 + BOUND_S));
}

static void time_of_an_exempt_job_counts_from_its_end(void **state)
{
	const struct plx_giver exempt = { .id = ELASTIC, .since_s = 500 };

	(void) state;
	assert_int_equal(0, plx_preemption_look(preemption, &exempt, 1, NULL, 0,
						90, NULL));
	assert_true(exempts(ELASTIC, 100));
	assert_true(exempts(ELASTIC, 500 + BOUND_S - 1));
	assert_false(exempts(ELASTIC, 500 + BOUND_S));
}

static void a_victim_that_comes_later_has_its_own_time(void **state)
{
	const struct plx_giver first = { .id = OTHER };

	(void) state;
	assert_int_equal(0, plx_preemption_look(preemption, &first, 1, NULL, 0,
						90, NULL));
	assert_true(exempts(OTHER, 100));
	look(150, false, false);
	assert_false(exempts(OTHER, 160));
	assert_true(exempts(ELASTIC, 160));
	assert_true(exempts(ELASTIC, 150 + BOUND_S - 1));
	assert_false(exempts(ELASTIC, 150 + BOUND_S));
}

static void who_started_or_left_waits_anew_when_it_is_back(void **state)
{
	(void) state;
	look(90, false, false);
	assert_true(exempts(ELASTIC, 100));
	look(101, true, true);
	assert_int_equal(
		0, plx_preemption_look(preemption,
				       &(struct plx_giver){ .id = ELASTIC }, 1,
				       NULL, 0, 110, NULL));
	assert_true(exempts(ELASTIC, 1000));
}

static void the_next_task_of_an_array_waits_anew(void **state)
{
	const struct plx_giver giver = { .id = ELASTIC, .asked = true };

	(void) state;
	for (int tasks = 3; tasks > 0; tasks--) {
		const struct plx_preemptor_seen seen = { URGENT, true, tasks };
		double now_s = 1000 - 50 * tasks;

		assert_int_equal(0, plx_preemption_look(preemption, &giver, 1,
							&seen, 1, now_s, NULL));
		assert_true(exempts(ELASTIC, now_s + 49));
	}
	assert_false(exempts(ELASTIC, 950 + BOUND_S));
}

static void slurm_is_woken_once_for_each_offer(void **state)
{
	(void) state;
	look(90, false, false);
	assert_true(exempts(ELASTIC, 100));
	assert_false(plx_preemption_offers(preemption, 100));
	look(101, false, false);
	assert_true(plx_preemption_offers(preemption, 101));
	assert_false(plx_preemption_offers(preemption, 102));
	look(103, true, true);
	assert_false(plx_preemption_offers(preemption, 103));
	assert_false(plx_preemption_is_over(preemption, URGENT, 162));
	assert_true(plx_preemption_is_over(preemption, URGENT, 163));
	assert_true(plx_preemption_offers(preemption, 163));
	assert_false(plx_preemption_offers(preemption, 164));
}

static void of_too_many_preemptors_the_most_silent_is_forgotten(void **state)
{
	(void) state;
	look(90, false, false);
	for (uint32_t id = 1000; id < 1001 + PLX_PREEMPTORS_MAX; id++)
		assert_true(plx_preemption_exempts(preemption, id, ELASTIC,
						   BOUND_S, 100 + id / 1e4));
	/* 1000 was forgotten and waits anew, 1002 was not. */
	assert_true(plx_preemption_exempts(preemption, 1000, ELASTIC, BOUND_S,
					   200));
	assert_false(plx_preemption_exempts(preemption, 1002, ELASTIC, BOUND_S,
					    200));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(nobody_is_spared_where_nobody_gives),
		TEST(who_gives_is_spared_until_the_bound),
		TEST(the_time_counts_from_when_room_is_made),
		TEST(where_no_room_can_be_made_it_counts_from_the_question),
		TEST(room_now_and_then_does_not_prolong_it),
		TEST(who_does_not_answer_is_offered_first),
		TEST(who_answers_after_all_was_not_late),
		TEST(rigid_jobs_are_spared_until_a_cycle_has_looked),
		TEST(or_while_the_one_that_gives_is_being_resized),
		TEST(and_as_long_as_others_make_room),
		TEST(time_of_an_exempt_job_counts_from_its_end),
		TEST(a_victim_that_comes_later_has_its_own_time),
		TEST(who_started_or_left_waits_anew_when_it_is_back),
		TEST(the_next_task_of_an_array_waits_anew),
		TEST(slurm_is_woken_once_for_each_offer),
		TEST(of_too_many_preemptors_the_most_silent_is_forgotten),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
