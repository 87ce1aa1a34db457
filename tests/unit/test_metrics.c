/* SPDX-License-Identifier: MIT */
/* test_metrics.c - a scheduler's numbers as text, and reasons in a word */

#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/records/metrics.h"
#include "core/problem/objective.h"
#include "unit.h"

static void assert_line(const char *text, const char *line)
{
	char want[160];

	snprintf(want, sizeof(want), "\n%s\n", line);
	if (!strstr(text, want))
		fail_msg("no line \"%s\" in\n%s", line, text);
}

static void numbers_are_told_by_name(void **state)
{
	struct plx_metrics metrics = { .skipped = 3 };
	char *text;

	(void) state;
	metrics.resizes[PLX_RESIZE_MOVE] = 7;
	metrics.refusals[PLX_REFUSED_LIMITS] = 2;
	metrics.now.gpus_idle = 5;
	metrics.now.fitness = 1.25;
	metrics.now.utility_high = 0.9;
	text = plx_metrics_text(&metrics);
	assert_non_null(text);
	assert_line(text, "pollux_cycles_skipped_total 3");
	assert_line(text, "pollux_resizes_total{kind=\"move\"} 7");
	assert_line(text, "pollux_refusals_total{reason=\"limits\"} 2");
	assert_line(text, "pollux_gpus{state=\"idle\"} 5");
	assert_line(text, "pollux_fitness 1.25");
	assert_line(text, "pollux_utility_band_ratio{bound=\"low\"} 0");
	assert_line(text, "pollux_utility_band_ratio{bound=\"high\"} 0.9");
	assert_line(text, "# TYPE pollux_resizes_total counter");
	free(text);
}

/* What reads the text again (pollux-stat) knows each number by itself. */
static void numbers_are_read_back_by_name(void **state)
{
	struct plx_metrics metrics = { .skipped = 3, .since_s = 1e9 };
	struct plx_metrics read = { 0 };
	char *text;
	char *residual = NULL;

	(void) state;
	metrics.now.jobs_parked = 5;
	metrics.now.utility_high = 0.75;
	text = plx_metrics_text(&metrics);
	for (char *line = strtok_r(text, "\n", &residual); line;
	     line = strtok_r(NULL, "\n", &residual)) {
		char name[64];
		char labels[64] = "";
		double value;
		bool several;

		if (sscanf(line, "pollux_%63[a-z_] %lf", name, &value) != 2 &&
		    sscanf(line, "pollux_%63[a-z_]{%63[^}]} %lf", name, labels,
			   &value) != 3)
			continue;
		several = strstr(name, "cycle_seconds") ||
			  strstr(name, "cycle_longest") ||
			  strstr(name, "resizes_total") ||
			  strstr(name, "refusals_total");
		assert_true(several !=
			    plx_metrics_take(&read, name, labels, value));
	}
	assert_int_equal(3, read.skipped);
	assert_true(read.since_s == 1e9);
	assert_int_equal(5, read.now.jobs_parked);
	assert_true(read.now.utility_high == 0.75);
	free(text);
}

static void what_is_no_number_of_ours_is_not_taken(void **state)
{
	struct plx_metrics read = { 0 };

	(void) state;
	assert_false(plx_metrics_take(&read, "jobs", "a=\"b\"", 1));
	assert_false(plx_metrics_take(&read, "cycle_seconds_sum", "", 1));
	assert_false(plx_metrics_take(&read, "jobs", "", INFINITY));
	assert_true(plx_metrics_take(&read, "jobs", "", 1e300));
	assert_int_equal(INT_MAX, read.now.jobs);
	assert_true(plx_metrics_take(&read, "asked_total", "", -1));
	assert_int_equal(0, read.asked);
}

/* A scraper wants HELP and TYPE once a name, before its samples. */
static void each_name_is_introduced_once(void **state)
{
	struct plx_metrics metrics = {
		.held = { { .lock = "look" }, { .lock = "touch" } },
		.held_count = 2,
	};
	char *text = plx_metrics_text(&metrics);
	char *residual = NULL;
	char known[100][64];
	int count = 0;

	(void) state;
	for (char *line = strtok_r(text, "\n", &residual); line;
	     line = strtok_r(NULL, "\n", &residual)) {
		char name[64];

		if (sscanf(line, "# TYPE %63s", name) != 1)
			continue;
		assert_true(count < 100);
		for (int i = 0; i < count; i++)
			assert_string_not_equal(known[i], name);
		strcpy(known[count++], name);
	}
	assert_true(count > 25);
	free(text);
}

static void times_fill_their_buckets(void **state)
{
	struct plx_metrics metrics = { .skipped = 0 };
	char *text;

	(void) state;
	plx_times_add(&metrics.cycles, 0.0015);
	plx_times_add(&metrics.cycles, 0.002);
	plx_times_add(&metrics.cycles, 1000);
	plx_times_add(&metrics.cycles, -1);
	assert_int_equal(4, plx_times_count(&metrics.cycles));
	text = plx_metrics_text(&metrics);
	assert_line(text, "pollux_cycle_seconds_bucket{le=\"0.0001\"} 1");
	assert_line(text, "pollux_cycle_seconds_bucket{le=\"0.001\"} 1");
	assert_line(text, "pollux_cycle_seconds_bucket{le=\"0.002\"} 3");
	assert_line(text, "pollux_cycle_seconds_bucket{le=\"+Inf\"} 4");
	assert_line(text, "pollux_cycle_seconds_count 4");
	assert_line(text, "pollux_cycle_longest_seconds 1000");
	assert_true(plx_times_bound(0) == 0.0001);
	assert_true(plx_times_bound(PLX_BUCKETS - 1) == 100);
	assert_true(plx_times_bound(PLX_BUCKETS) == (double) INFINITY);
	free(text);
}

/* One that a reader cannot add up would stop it for good. */
static void what_is_no_number_is_told_as_nothing(void **state)
{
	struct plx_metrics metrics = { .now.fitness = NAN,
				       .now.utility = -INFINITY };
	char *text = plx_metrics_text(&metrics);

	(void) state;
	assert_line(text, "pollux_fitness 0");
	assert_line(text, "pollux_utility_ratio 0");
	assert_null(strstr(text, "nan"));
	free(text);
}

static void a_resize_is_of_a_kind(void **state)
{
	(void) state;
	assert_int_equal(PLX_RESIZE_PARK, plx_resize_kind_of(4, 0));
	assert_int_equal(PLX_RESIZE_WAKE, plx_resize_kind_of(0, 4));
	assert_int_equal(PLX_RESIZE_MOVE, plx_resize_kind_of(4, 4));
	assert_int_equal(PLX_RESIZE_GROW, plx_resize_kind_of(4, 5));
	assert_int_equal(PLX_RESIZE_SHRINK, plx_resize_kind_of(5, 4));
}

/* Whatever words the sentence has: names of nodes and programs are in it. */
static void a_refusal_is_of_the_kind_that_its_writer_says(void **state)
{
	struct plx_error err;

	(void) state;
	plx_fail_as(&err, PLX_REFUSED_RESOURCES, "node %s has no %d GPUs free",
		    "account-limit", 4);
	assert_string_equal("node account-limit has no 4 GPUs free", err.text);
	assert_string_equal("room", plx_refusal_name(err.kind));
	plx_fail(&err, "its QOS is at its limit");
	assert_string_equal("other", plx_refusal_name(err.kind));
	assert_int_equal(-1, plx_fail_as(NULL, PLX_REFUSED_BATCH_HOST, "lost"));
	assert_string_equal("other", plx_refusal_name(PLX_REFUSALS));
	assert_string_equal("other", plx_refusal_name(-1));
}

static void each_kind_of_refusal_has_a_name_of_its_own(void **state)
{
	(void) state;
	for (int i = 0; i < PLX_REFUSALS; i++) {
		for (int k = 0; k < i; k++)
			assert_string_not_equal(plx_refusal_name(i),
						plx_refusal_name(k));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(numbers_are_told_by_name),
		cmocka_unit_test(numbers_are_read_back_by_name),
		cmocka_unit_test(what_is_no_number_of_ours_is_not_taken),
		cmocka_unit_test(each_name_is_introduced_once),
		cmocka_unit_test(times_fill_their_buckets),
		cmocka_unit_test(what_is_no_number_is_told_as_nothing),
		cmocka_unit_test(a_resize_is_of_a_kind),
		cmocka_unit_test(a_refusal_is_of_the_kind_that_its_writer_says),
		cmocka_unit_test(each_kind_of_refusal_has_a_name_of_its_own),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
