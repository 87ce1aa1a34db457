/* SPDX-License-Identifier: MIT */
/* test_explanation.c - why a job has what it has, told at any time */

#include <stdio.h>
#include <string.h>

#include "core/records/explanation.h"
#include "core/records/target.h"
#include "unit.h"

static void assert_text(const struct plx_explanation *explanation,
			const char *want)
{
	char text[PLX_WHY_SIZE];

	plx_explanation_text(explanation, text, sizeof(text));
	assert_string_equal(want, text);
}

static void what_the_plan_says_is_told(void **state)
{
	struct plx_explanation s = { .gpus = 2, .plan = "stays: 2 GPUs, fine" };

	(void) state;
	assert_text(&s, "stays: 2 GPUs, fine");
	s.refused = "";
	assert_text(&s, "stays: 2 GPUs, fine");
	s.refused = "its QOS is at its limit";
	assert_text(&s, "stays: 2 GPUs, fine; refused before: its QOS is at "
			"its limit");
}

static void what_keeps_a_job_from_its_plan_is_told(void **state)
{
	struct plx_explanation s = {
		.gpus = 1,
		.changes = true,
		.plan = "grows 1 -> 2 GPUs on 1 node: not measured yet",
	};

	(void) state;
	assert_text(&s, "stays: 1 GPU until others give theirs: grows 1 -> 2 "
			"GPUs on 1 node: not measured yet");
	s.refused = "node n1 has no 2 GPUs free";
	assert_text(&s, "stays: 1 GPU, refused: node n1 has no 2 GPUs free");
	s.hold = PLX_HOLD_REFUSED;
	assert_text(&s, "stays: 1 GPU, left alone for a while after it was "
			"refused: node n1 has no 2 GPUs free");
	s.hold = PLX_HOLD_BOUND;
	s.refused = "it is suspended";
	assert_text(&s, "stays: 1 GPU, may not be resized: it is suspended");
	s.hold = PLX_HOLD_SILENT;
	s.refused = NULL;
	assert_text(&s, "stays: 1 GPU, no launcher has spoken yet");
}

static void figures_are_not_the_meaning(void **state)
{
	static const struct {
		const char *a, *b;
		bool same;
	} cases[] = {
		/* clang-format off */
		{ "stays: 4 GPUs, 8 would add 12 %",
		  "stays: 4 GPUs, 8 would add 9 %", true },
		{ "stays: 4 GPUs, 8 would add 12 %",
		  "stays: 4 GPUs, 6 would add 0.5 %", true },
		{ "stays: 4 GPUs, 8 would add 12 %",
		  "stays: 5 GPUs, 8 would add 12 %", false },
		{ "stays: 4 GPUs, 8 would add 12 %",
		  "stays: 4 GPUs, more would not help", false },
		{ "stays: 4 GPUs", "stays: 4 GPUs; and", false },
		{ "", "", true },
		{ "a 1", "a", false },
		/* clang-format on */
	};

	(void) state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		assert_int_equal(cases[i].same,
				 plx_explanation_same(cases[i].a, cases[i].b));
		assert_int_equal(cases[i].same,
				 plx_explanation_same(cases[i].b, cases[i].a));
	}
}

static void records_are_not_written_all_the_time(void **state)
{
	const char *told = "stays: 4 GPUs, 8 would add 12 %";
	const char *figures = "stays: 4 GPUs, 8 would add 13 %";
	const char *other = "stays: 4 GPUs, more would not help";

	(void) state;
	assert_false(plx_explanation_is_news(told, told, 1e6));
	assert_true(plx_explanation_is_news("", told, 0));
	assert_false(plx_explanation_is_news(told, figures, 59));
	assert_true(plx_explanation_is_news(told, figures, 60));
	assert_false(plx_explanation_is_news(told, other, 4));
	assert_true(plx_explanation_is_news(told, other, 5));
}

static void a_job_never_asked_can_be_told(void **state)
{
	struct plx_target told = { .speedup = 1.25, .why = "stays: 1 GPU" };
	char fields[512];
	char comment[600];
	struct plx_target read;

	(void) state;
	assert_int_equal(0,
			 plx_target_write(&told, fields, sizeof(fields), NULL));
	snprintf(comment, sizeof(comment), "[pollux %s]", fields);
	assert_int_equal(1, plx_target_read(comment, &read, NULL));
	assert_int_equal(PLX_TARGET_NONE, read.state);
	assert_int_equal(0, read.serial);
	assert_true(read.speedup == 1.25);
	assert_string_equal(told.why, read.why);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_the_plan_says_is_told),
		cmocka_unit_test(what_keeps_a_job_from_its_plan_is_told),
		cmocka_unit_test(figures_are_not_the_meaning),
		cmocka_unit_test(records_are_not_written_all_the_time),
		cmocka_unit_test(a_job_never_asked_can_be_told),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
