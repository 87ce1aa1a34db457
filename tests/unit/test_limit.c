/* SPDX-License-Identifier: MIT */
/* test_limit.c - a job and its time limit */

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "core/jobs/limit.h"
#include "core/records/options.h"
#include "core/base/section.h"
#include "core/records/status.h"
#include "core/records/target.h"
#include "unit.h"

static void a_job_saves_when_its_launcher_says(void **state)
{
	(void) state;
	assert_float_equal(45, plx_limit_lead(45, 3600), 0);
	assert_float_equal(PLX_LIMIT_MARGIN_S, plx_limit_lead(0, 3600), 0);
}

static void but_not_before_half_of_its_limit_has_passed(void **state)
{
	(void) state;
	assert_float_equal(30, plx_limit_lead(45, 60), 0);
	assert_float_equal(1800, plx_limit_lead(86400, 3600), 0);
}

static void who_comes_further_goes_on_for_ever(void **state)
{
	int rounds = 0;

	(void) state;
	for (int i = 0; i < 1000; i++) {
		assert_true(plx_limit_again(PLX_CAME_FURTHER, &rounds));
		assert_int_equal(0, rounds);
	}
}

/* How often in a row a job that never comes further is requeued. */
static int times(enum plx_came came)
{
	int rounds = 0;
	int count = 0;

	while (plx_limit_again(came, &rounds) && count < 1000)
		count++;
	return count;
}

static void who_does_not_ends(void **state)
{
	int rounds = PLX_LIMIT_ROUNDS - 1;

	(void) state;
	assert_int_equal(PLX_LIMIT_ROUNDS - 1, times(PLX_CAME_NOWHERE));
	assert_int_equal(PLX_LIMIT_UNTOLD - 1, times(PLX_CAME_UNTOLD));
	/* Once further begins the count anew. */
	assert_true(plx_limit_again(PLX_CAME_FURTHER, &rounds));
	assert_true(plx_limit_again(PLX_CAME_NOWHERE, &rounds));
}

static void a_mark_has_the_digits_of_a_text(void **state)
{
	struct plx_target target = { .serial = 1, .mark = 1.0 / 3 };
	struct plx_target read;
	char fields[PLX_FIELDS_MAX];
	char comment[PLX_COMMENT_MAX];
	struct plx_error err;

	(void) state;
	assert_int_equal(0, plx_target_write(&target, fields, sizeof(fields),
					     &err));
	assert_int_equal(0, plx_section_put(NULL, fields, comment,
					    sizeof(comment), &err));
	assert_int_equal(1, plx_target_read(comment, &read, &err));
	assert_int_equal(PLX_CAME_NOWHERE, plx_limit_came(1.0 / 3, read.mark));
	assert_int_equal(PLX_CAME_FURTHER, plx_limit_came(0.3334, read.mark));
	assert_int_equal(PLX_CAME_NOWHERE, plx_limit_came(0, 0));
	assert_int_equal(PLX_CAME_FURTHER, plx_limit_came(1e-9, 0));
}

/* ---- will it be done by then? ---- */

/* A second for a step of 64 samples, whatever it runs on. */
static const struct plx_hint steady = {
	.job = { .model = { .alpha_c = 1, .gamma = 1, .two_nodes = 1 },
		 .noise = { .sqr = 1, .var = 0 },
		 .limits = { .base_batch = 64,
			     .max_batch = 64,
			     .min_per_gpu = 1,
			     .max_per_gpu = 64 } },
	.samples_left = 6400,
};

static void what_takes_longer_misses_its_limit(void **state)
{
	struct plx_shape one = { .nodes = 1, .gpus = 1 };

	(void) state;
	assert_true(plx_limit_misses(&steady, one, 90));
	assert_false(plx_limit_misses(&steady, one, 110));
}

static void what_nobody_knows_is_not_foretold(void **state)
{
	struct plx_shape one = { .nodes = 1, .gpus = 1 };
	struct plx_hint untold = steady;

	(void) state;
	assert_false(plx_limit_misses(&steady, one, INFINITY));
	assert_false(plx_limit_misses(&steady, (struct plx_shape){ 0 }, 90));
	untold.samples_left = 0;
	assert_false(plx_limit_misses(&untold, one, 90));
}

static void a_reason_tells_of_it_whole(void **state)
{
	static const struct plx_shape one = { .nodes = 1, .gpus = 1 };
	char why[64] = "shrinks 2 -> 1 GPUs";
	char full[64];

	(void) state;
	plx_limit_warn(&steady, one, 110, why, sizeof(why));
	assert_string_equal("shrinks 2 -> 1 GPUs", why);
	plx_limit_warn(&steady, one, 90, why, sizeof(why));
	assert_string_equal("shrinks 2 -> 1 GPUs; will not finish by its time "
			    "limit",
			    why);
	memset(full, 'x', sizeof(full) - 1);
	full[sizeof(full) - 1] = '\0';
	plx_limit_warn(&steady, one, 90, full, sizeof(full));
	assert_int_equal(sizeof(full) - 1, strlen(full));
	assert_non_null(strstr(full, "xx; will not finish by its time limit"));
}

/* ---- the texts ---- */

static void what_was_given_is_on_the_record(void **state)
{
	struct plx_target target = { .serial = 3,
				     .state = PLX_TARGET_PARKED,
				     .given_s = 75,
				     .extended_min = 12,
				     .credited = 1700000000,
				     .rounds = 2 };
	char comment[PLX_COMMENT_MAX];
	char fields[PLX_FIELDS_MAX];
	struct plx_target read;
	struct plx_error err;

	(void) state;
	assert_int_equal(0, plx_target_write(&target, fields, sizeof(fields),
					     &err));
	assert_non_null(strstr(
		fields, "given=75 extended=12 credited=1700000000 rounds=2"));
	assert_int_equal(0, plx_section_put(NULL, fields, comment,
					    sizeof(comment), &err));
	assert_int_equal(1, plx_target_read(comment, &read, &err));
	assert_int_equal(75, read.given_s);
	assert_int_equal(12, read.extended_min);
	assert_int_equal(1700000000, read.credited);
	assert_int_equal(2, read.rounds);
}

static void a_wild_lead_is_refused(void **state)
{
	static const char *const bad[] = { "-1", "86401", "1e9", "x" };
	char comment[PLX_COMMENT_MAX];
	struct plx_status status;
	struct plx_error err;

	(void) state;
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		snprintf(comment, sizeof(comment),
			 "[pollux v=1 launcher=batch ack=0 phase=training "
			 "lead=%s resizes=0 pause=0,0]",
			 bad[i]);
		assert_int_equal(-1, plx_status_read(comment, &status, &err));
	}
}

static void a_lead_comes_through(void **state)
{
	struct plx_status status = { .launcher = 3, .lead_s = 42 };
	char comment[PLX_COMMENT_MAX];
	char fields[PLX_FIELDS_MAX];
	struct plx_status read;
	struct plx_error err;

	(void) state;
	assert_int_equal(0, plx_status_write(&status, fields, sizeof(fields),
					     &err));
	assert_int_equal(0, plx_section_put(NULL, fields, comment,
					    sizeof(comment), &err));
	assert_int_equal(1, plx_status_read(comment, &read, &err));
	assert_int_equal(42, read.lead_s);
}

static void the_option_has_two_words(void **state)
{
	static const struct {
		const char *text;
		const char *why;
	} cases[] = {
		/* clang-format off */
		{ "pollux,at-limit=stop",
		  "at-limit=stop: want end or requeue" },
		{ "pollux,at-limit", "at-limit: want at-limit=end|requeue" },
		{ "pollux,at_limit=end",
		  "at_limit: unknown key, did you mean at-limit?" },
		{ "pollux,at-limit=end,at-limit=end",
		  "at-limit: given twice" },
		/* clang-format on */
	};
	struct plx_options o;
	struct plx_error err;

	(void) state;
	assert_int_equal(0, plx_options_parse("pollux", &o, &err));
	assert_int_equal(PLX_LIMIT_END, o.at_limit);
	assert_int_equal(0, plx_options_parse("pollux,at-limit=requeue", &o,
					      &err));
	assert_int_equal(PLX_LIMIT_REQUEUE, o.at_limit);
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		assert_int_equal(-1,
				 plx_options_parse(cases[i].text, &o, &err));
		assert_string_equal(cases[i].why, err.text);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_job_saves_when_its_launcher_says),
		cmocka_unit_test(but_not_before_half_of_its_limit_has_passed),
		cmocka_unit_test(who_comes_further_goes_on_for_ever),
		cmocka_unit_test(who_does_not_ends),
		cmocka_unit_test(a_mark_has_the_digits_of_a_text),
		cmocka_unit_test(what_takes_longer_misses_its_limit),
		cmocka_unit_test(what_nobody_knows_is_not_foretold),
		cmocka_unit_test(a_reason_tells_of_it_whole),
		cmocka_unit_test(what_was_given_is_on_the_record),
		cmocka_unit_test(a_wild_lead_is_refused),
		cmocka_unit_test(a_lead_comes_through),
		cmocka_unit_test(the_option_has_two_words),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
