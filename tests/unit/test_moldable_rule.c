/* SPDX-License-Identifier: MIT */
/* test_moldable_rule.c - when another shape is worth a requeue */

#include <math.h>
#include <string.h>

#include "core/jobs/moldable.h"
#include "core/records/options.h"
#include "core/problem/objective.h"
#include "unit.h"

/* It ran an hour, saved just now, and has four hours left. */
static const struct plx_moldable usual = {
	.age_s = 3600,
	.requeued_s = INFINITY,
	.saved_s = 20,
	.ends_s = 14400,
	.restart_s = 30,
	.least_gap_s = 600,
};

static void assert_answer(enum plx_moldable_answer want,
			  struct plx_moldable moldable, double ratio,
			  enum plx_moldable_reason reason)
{
	char text[200] = "";

	assert_int_equal(want, plx_moldable_judge(&moldable, ratio, reason));
	plx_moldable_text(&moldable, ratio, want, text, sizeof(text));
	assert_true(text[0] != '\0');
}

static void what_is_lost_is_what_was_done_since_the_checkpoint(void **state)
{
	struct plx_moldable moldable = usual;

	(void) state;
	assert_float_equal(20, plx_moldable_loss(&moldable), 1e-9);
	moldable.saved_s = -1;
	assert_float_equal(3600, plx_moldable_loss(&moldable), 1e-9);
	moldable.may_lose_s = 300;
	assert_float_equal(300, plx_moldable_loss(&moldable), 1e-9);
	moldable.age_s = 5;
	assert_float_equal(5, plx_moldable_loss(&moldable), 1e-9);
}

static void without_a_recent_checkpoint_it_is_left_alone(void **state)
{
	struct plx_moldable moldable = usual;

	(void) state;
	moldable.saved_s = -1;
	assert_answer(PLX_MOLDABLE_UNSAVED, moldable, 4,
		      PLX_MOLDABLE_FOR_ITSELF);
	assert_answer(PLX_MOLDABLE_UNSAVED, moldable, 0.5,
		      PLX_MOLDABLE_FOR_OTHERS);
	moldable.saved_s = PLX_MOLDABLE_RECENT_S + 1;
	assert_answer(PLX_MOLDABLE_UNSAVED, moldable, 4,
		      PLX_MOLDABLE_FOR_ITSELF);
	moldable.saved_s = PLX_MOLDABLE_RECENT_S;
	assert_answer(PLX_MOLDABLE_YES, moldable, 4, PLX_MOLDABLE_FOR_ITSELF);
}

static void unless_its_user_says_so(void **state)
{
	struct plx_moldable moldable = usual;

	(void) state;
	moldable.saved_s = -1;
	moldable.may_lose_s = 600;
	assert_answer(PLX_MOLDABLE_YES, moldable, 4, PLX_MOLDABLE_FOR_ITSELF);
	assert_answer(PLX_MOLDABLE_YES, moldable, 0.5, PLX_MOLDABLE_FOR_OTHERS);
}

static void one_that_has_just_begun_loses_nothing_unknown(void **state)
{
	struct plx_moldable moldable = usual;

	(void) state;
	moldable.saved_s = -1;
	moldable.age_s = 10;
	assert_answer(PLX_MOLDABLE_YES, moldable, 2, PLX_MOLDABLE_FOR_ITSELF);
}

static void in_its_last_minutes_it_is_left_alone(void **state)
{
	struct plx_moldable moldable = usual;

	(void) state;
	moldable.ends_s = PLX_MOLDABLE_LAST_S - 1;
	assert_answer(PLX_MOLDABLE_ENDS, moldable, 8, PLX_MOLDABLE_FOR_ITSELF);
	assert_answer(PLX_MOLDABLE_ENDS, moldable, 0.5,
		      PLX_MOLDABLE_FOR_OTHERS);
	moldable = usual;
	moldable.left_s = PLX_MOLDABLE_LAST_S - 1;
	assert_answer(PLX_MOLDABLE_ENDS, moldable, 8, PLX_MOLDABLE_FOR_ITSELF);
}

static void it_is_not_requeued_for_itself_too_often(void **state)
{
	struct plx_moldable moldable = usual;

	(void) state;
	moldable.age_s = moldable.requeued_s = 599;
	assert_answer(PLX_MOLDABLE_AGAIN, moldable, 8, PLX_MOLDABLE_FOR_ITSELF);
	assert_answer(PLX_MOLDABLE_YES, moldable, 0.5, PLX_MOLDABLE_FOR_OTHERS);
	/* Not even for others, if it does not get smaller. */
	moldable.requeued_s = 59;
	assert_answer(PLX_MOLDABLE_YES, moldable, 0.5, PLX_MOLDABLE_FOR_OTHERS);
	assert_answer(PLX_MOLDABLE_AGAIN, moldable, 1, PLX_MOLDABLE_FOR_OTHERS);
	moldable.requeued_s = 60;
	assert_answer(PLX_MOLDABLE_YES, moldable, 1, PLX_MOLDABLE_FOR_OTHERS);
	moldable.requeued_s = 600;
	assert_answer(PLX_MOLDABLE_YES, moldable, 8, PLX_MOLDABLE_FOR_ITSELF);
}

static void the_gain_must_be_twice_the_cost(void **state)
{
	struct plx_moldable moldable = usual;

	(void) state;
	/* Saves 1000 (1 - 1/2) = 500 s; costs 30 + 440 / 2 = 250 s. */
	moldable.left_s = 1000;
	moldable.may_lose_s = 440;
	moldable.saved_s = -1;
	assert_float_equal(500, plx_moldable_saved(&moldable, 2), 1e-9);
	assert_float_equal(250, plx_moldable_cost(&moldable, 2), 1e-9);
	assert_answer(PLX_MOLDABLE_YES, moldable, 2, PLX_MOLDABLE_FOR_ITSELF);
	moldable.left_s = 999;
	assert_answer(PLX_MOLDABLE_LITTLE, moldable, 2,
		      PLX_MOLDABLE_FOR_ITSELF);
}

static void nobody_is_requeued_to_be_slower_for_nothing(void **state)
{
	(void) state;
	assert_answer(PLX_MOLDABLE_LITTLE, usual, 1, PLX_MOLDABLE_FOR_ITSELF);
	assert_answer(PLX_MOLDABLE_LITTLE, usual, 0.5, PLX_MOLDABLE_FOR_ITSELF);
	assert_answer(PLX_MOLDABLE_LITTLE, usual, 0, PLX_MOLDABLE_FOR_ITSELF);
	assert_answer(PLX_MOLDABLE_YES, usual, 1, PLX_MOLDABLE_FOR_OTHERS);
}

/* What is not told is at least half an hour, and never past the limit. */
static void what_is_left_is_guessed_with_care(void **state)
{
	struct plx_moldable moldable = usual;

	(void) state;
	assert_float_equal(1800, plx_moldable_saved(&moldable, 2), 1e-9);
	moldable.age_s = 60;
	assert_float_equal(900, plx_moldable_saved(&moldable, 2), 1e-9);
	moldable.ends_s = 1000;
	assert_float_equal(500, plx_moldable_saved(&moldable, 2), 1e-9);
}

static double assumed(int nodes, int gpus)
{
	struct plx_problem problem = { .job_count = 1 };
	struct plx_job job = { .min_gpus = 1, .max_gpus = 64 };
	struct plx_yardstick fair;

	plx_moldable_assume(&job);
	assert_true(plx_goodput_valid(&job.goodput));
	assert_true(job.profiled);
	assert_int_equal(64, job.profiled_gpus);
	fair = plx_fair_share(&problem, &job);
	return plx_speedup(&job, &fair,
			   (struct plx_shape){ .nodes = nodes, .gpus = gpus });
}

static void a_job_of_which_nothing_is_known_scales_cautiously(void **state)
{
	(void) state;
	assert_float_equal(1, assumed(1, 1), 1e-3);
	assert_float_equal(1 / 0.525, assumed(1, 2), 1e-3);
	assert_float_equal(1 / (0.05 + 0.95 / 7), assumed(1, 7), 1e-3);
	assert_float_equal(1 / (0.07 + 0.95 / 16), assumed(2, 16), 1e-3);
	assert_true(assumed(4, 64) < 20);
}

static void a_job_is_resized_live_unless_its_user_says_requeue(void **state)
{
	struct plx_options o;

	(void) state;
	assert_int_equal(0, plx_options_parse("pollux,max=4", &o, NULL));
	assert_int_equal(PLX_MODE_LIVE, o.mode);
	assert_int_equal(0, plx_options_parse("pollux,mode=live", &o, NULL));
	assert_int_equal(PLX_MODE_LIVE, o.mode);
	assert_int_equal(0, plx_options_parse("pollux,checkpoint=300,"
					      "mode=requeue",
					      &o, NULL));
	assert_int_equal(PLX_MODE_REQUEUE, o.mode);
	assert_int_equal(300, o.checkpoint_s);
}

static void a_mode_that_is_none_is_refused(void **state)
{
	static const struct {
		const char *text;
		const char *why;
	} cases[] = {
		/* clang-format off */
		{ "pollux,mode=cold", "mode=cold: want live or requeue" },
		{ "pollux,mode=", "mode=: want live or requeue" },
		{ "pollux,mode", "mode: want mode=live|requeue" },
		{ "pollux,mode=1", "mode=1: want live or requeue" },
		{ "pollux,mode=live,mode=live", "mode: given twice" },
		{ "pollux,mode=requeue,checkpoint=0",
		  "checkpoint=0: want seconds from 1 to 86400" },
		{ "pollux,checkpoint=60",
		  "checkpoint=60: is of use with mode=requeue alone" },
		/* clang-format on */
	};
	struct plx_options o;
	struct plx_error err;

	(void) state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		assert_int_equal(-1,
				 plx_options_parse(cases[i].text, &o, &err));
		assert_string_equal(cases[i].why, err.text);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(
			what_is_lost_is_what_was_done_since_the_checkpoint),
		cmocka_unit_test(without_a_recent_checkpoint_it_is_left_alone),
		cmocka_unit_test(unless_its_user_says_so),
		cmocka_unit_test(one_that_has_just_begun_loses_nothing_unknown),
		cmocka_unit_test(in_its_last_minutes_it_is_left_alone),
		cmocka_unit_test(it_is_not_requeued_for_itself_too_often),
		cmocka_unit_test(the_gain_must_be_twice_the_cost),
		cmocka_unit_test(nobody_is_requeued_to_be_slower_for_nothing),
		cmocka_unit_test(what_is_left_is_guessed_with_care),
		cmocka_unit_test(
			a_job_of_which_nothing_is_known_scales_cautiously),
		cmocka_unit_test(
			a_job_is_resized_live_unless_its_user_says_requeue),
		cmocka_unit_test(a_mode_that_is_none_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
