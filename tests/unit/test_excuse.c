/* SPDX-License-Identifier: MIT */
/* test_excuse.c - more time for a job whose ranks are busy */

#include "core/jobs/excuse.h"
#include "unit.h"

#define ANSWER_S 60.0
#define LIMIT_S	 600.0

/* Says at each deadline that it is busy; how long it is waited for. */
static double waited_s(struct plx_excuse *excuse, double from_s, double busy_s)
{
	double waited = 0;
	double more_s;

	while (waited < busy_s &&
	       (more_s = plx_excuse_grant(excuse, from_s + waited, ANSWER_S,
					  LIMIT_S)) > 0)
		waited += more_s;
	return waited;
}

static void a_job_is_waited_for_while_it_is_busy(void **state)
{
	struct plx_excuse excuse = { 0 };

	(void) state;
	assert_true(waited_s(&excuse, 1000, 200) == 240);
	assert_true(waited_s(&excuse, 5000, 200) == 240);
}

static void but_not_for_longer_than_the_limit(void **state)
{
	struct plx_excuse excuse = { 0 };

	(void) state;
	assert_true(waited_s(&excuse, 1000, 1e9) == LIMIT_S);
	/* Nothing comes back while it is waited for, ... */
	assert_true(plx_excuse_grant(&excuse, 1000 + LIMIT_S, ANSWER_S,
				     LIMIT_S) == 0);
	/* ... and then a tenth. */
	assert_true(plx_excuse_grant(&excuse, 1000 + LIMIT_S + 100, ANSWER_S,
				     LIMIT_S) == 10);
}

/* Asked again and again, each time it says so for as long as it is heard. */
static void who_says_so_for_ever_gains_a_tenth(void **state)
{
	struct plx_excuse excuse = { 0 };
	const double gap_s = 30;
	double gained_s = 0;
	double t = 1;

	(void) state;
	while (t < 1e6) {
		double waited = waited_s(&excuse, t, 1e9);

		gained_s += waited;
		t += waited + gap_s;
	}
	assert_true(gained_s <= 0.1 * t + LIMIT_S);
	/* It was not refused from the first time on. */
	assert_true(gained_s > 0.05 * t);
}

/* As for GPUs that others wait for, while it cannot be made smaller. */
static void time_that_was_had_is_paid_for_whole_or_not_at_all(void **state)
{
	struct plx_excuse excuse = { 0 };

	(void) state;
	assert_true(plx_excuse_pay(&excuse, 1000, 0, LIMIT_S));
	assert_true(plx_excuse_pay(&excuse, 1100, 100, LIMIT_S));
	assert_true(plx_excuse_pay(&excuse, 1500, 400, LIMIT_S));
	assert_true(excuse.spent_s == 460);
	assert_false(plx_excuse_pay(&excuse, 1700, 200, LIMIT_S));
	assert_true(excuse.spent_s == 440);
	assert_true(plx_excuse_pay(&excuse, 1700, 160, LIMIT_S));
}

static void without_a_limit_nothing_is_waited_for(void **state)
{
	struct plx_excuse excuse = { 0 };

	(void) state;
	assert_true(plx_excuse_grant(&excuse, 10, ANSWER_S, 0) == 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_job_is_waited_for_while_it_is_busy),
		cmocka_unit_test(but_not_for_longer_than_the_limit),
		cmocka_unit_test(who_says_so_for_ever_gains_a_tenth),
		cmocka_unit_test(
			time_that_was_had_is_paid_for_whole_or_not_at_all),
		cmocka_unit_test(without_a_limit_nothing_is_waited_for),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
