/* SPDX-License-Identifier: MIT */
/* test_pauses.c - how long training stood still */

#include <math.h>

#include "launcher/rules/pauses.h"
#include "unit.h"

static void assert_near(double want, double got)
{
	if (fabs(want - got) > 1e-9)
		fail_msg("%.9f is not %.9f", got, want);
}

static double sum_of_parts(const struct plx_pause *pause)
{
	double sum = 0;

	for (int i = PLX_PART_SAVE; i < PLX_PARTS; i++)
		sum += pause->part_s[i];
	return sum;
}

static void a_pause_is_the_sum_of_its_parts(void **state)
{
	const struct plx_marks marks = {
		.asked_s = 10.0,
		.last_s = 10.1,
		.saved_s = 10.3,
		.left_s = 10.6,
		.acked_s = 10.61,
		.answered_s = 10.7,
		.started_s = 10.7,
		.hello_s = 11.2,
		.first_s = 11.3,
	};
	struct plx_pause pause = plx_pause_of(&marks);

	(void) state;
	assert_near(1.2, pause.total_s);
	assert_near(0.1, pause.part_s[PLX_PART_STOP]);
	assert_near(0.2, pause.part_s[PLX_PART_SAVE]);
	assert_near(0.3, pause.part_s[PLX_PART_LEAVE]);
	assert_near(0.01, pause.part_s[PLX_PART_ACK]);
	assert_near(0.09, pause.part_s[PLX_PART_RESIZE]);
	assert_near(0.5, pause.part_s[PLX_PART_START]);
	assert_near(0.1, pause.part_s[PLX_PART_FIRST_STEP]);
	assert_near(pause.total_s, sum_of_parts(&pause));
}

static void what_did_not_happen_takes_no_time(void **state)
{
	/* Killed ranks: nothing saved; the step that began unasked. */
	const struct plx_marks marks = {
		.asked_s = 10,
		.last_s = 10,
		.left_s = 30,
		.answered_s = 31,
		.hello_s = 32,
		.first_s = 33,
	};
	struct plx_pause pause = plx_pause_of(&marks);

	(void) state;
	assert_near(23, pause.total_s);
	assert_near(0, pause.part_s[PLX_PART_SAVE]);
	assert_near(20, pause.part_s[PLX_PART_LEAVE]);
	assert_near(0, pause.part_s[PLX_PART_ACK]);
	assert_near(pause.total_s, sum_of_parts(&pause));
}

static void a_parked_job_pauses_from_the_answer_on(void **state)
{
	const struct plx_marks marks = {
		.acked_s = 90,
		.answered_s = 100,
		.started_s = 100,
		.hello_s = 100.5,
		.first_s = 101,
	};
	struct plx_pause pause = plx_pause_of(&marks);

	(void) state;
	assert_near(1, pause.total_s);
	assert_near(0.5, pause.part_s[PLX_PART_START]);
	assert_near(0.5, pause.part_s[PLX_PART_FIRST_STEP]);
}

static void a_handover_pauses_for_its_own_parts_alone(void **state)
{
	const struct plx_marks marks = {
		.offered_s = 5,
		.answered_s = 5.5,
		.started_s = 5.5,
		.hello_s = 6.2,
		.ready_s = 6.3,
		.asked_s = 6.3,
		.last_s = 6.4,
		.saved_s = 6.41,
		.go_s = 6.42,
		.first_s = 6.45,
	};
	struct plx_pause pause = plx_pause_of(&marks);

	(void) state;
	assert_near(0.05, pause.total_s);
	assert_near(0.5, pause.part_s[PLX_PART_OVERLAP]);
	assert_near(0.8, pause.part_s[PLX_PART_WARM]);
	assert_near(0.1, pause.part_s[PLX_PART_STOP]);
	assert_near(0.01, pause.part_s[PLX_PART_SAVE]);
	assert_near(0, pause.part_s[PLX_PART_START]);
	assert_near(0.01, pause.part_s[PLX_PART_GO]);
	assert_near(0.03, pause.part_s[PLX_PART_FIRST_STEP]);
	assert_near(pause.total_s, sum_of_parts(&pause));
}

static void median_and_worst_need_no_order(void **state)
{
	struct plx_pauses pauses = { 0 };

	(void) state;
	assert_near(0, plx_pauses_median(&pauses));
	assert_near(0, plx_pauses_worst(&pauses));
	plx_pauses_add(&pauses, 3, NULL);
	assert_near(3, plx_pauses_median(&pauses));
	plx_pauses_add(&pauses, 1, NULL);
	assert_near(2, plx_pauses_median(&pauses));
	plx_pauses_add(&pauses, 2.5, NULL);
	assert_near(2.5, plx_pauses_median(&pauses));
	assert_near(3, plx_pauses_worst(&pauses));
	plx_pauses_release(&pauses);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_pause_is_the_sum_of_its_parts),
		cmocka_unit_test(what_did_not_happen_takes_no_time),
		cmocka_unit_test(a_parked_job_pauses_from_the_answer_on),
		cmocka_unit_test(a_handover_pauses_for_its_own_parts_alone),
		cmocka_unit_test(median_and_worst_need_no_order),
	};

	return cmocka_run_group_tests_name("pauses", tests, NULL, NULL);
}
