/* SPDX-License-Identifier: MIT */
/* test_stat.c - what pollux-stat makes of the file that the plugin writes */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/records/metrics.h"
#include "report/stat.h"
#include "unit.h"

/* What the plugin would have written. */
static void read_back(const struct plx_metrics *metrics, struct plx_stat *stat)
{
	char *text = plx_metrics_text(metrics);

	assert_non_null(text);
	assert_int_equal(0, plx_stat_read(text, stat, NULL));
	free(text);
}

static void what_was_written_is_read(void **state)
{
	struct plx_metrics metrics = { .asked = 9, .now.utility = 0.75 };
	struct plx_stat stat;

	(void) state;
	metrics.resizes[PLX_RESIZE_WAKE] = 4;
	read_back(&metrics, &stat);
	assert_true(plx_stat_value(&stat, "asked_total", "") == 9);
	assert_true(plx_stat_value(&stat, "utility_ratio", "") == 0.75);
	assert_true(plx_stat_value(&stat, "resizes_total", "kind=\"wake\"") ==
		    4);
	assert_true(plx_stat_value(&stat, "nothing", "") == 0);
	plx_stat_release(&stat);
}

static void quantiles_are_bounds_of_buckets(void **state)
{
	struct plx_metrics metrics = { .held = { { .lock = "look" } },
				       .held_count = 1 };
	struct plx_stat stat;

	(void) state;
	for (int i = 0; i < 99; i++)
		plx_times_add(&metrics.cycles, 0.0015);
	plx_times_add(&metrics.cycles, 0.7);
	plx_times_add(&metrics.held[0].times, 0.00002);
	read_back(&metrics, &stat);
	assert_true(plx_stat_quantile(&stat, "cycle_seconds", "", 0.5) ==
		    0.002);
	assert_true(plx_stat_quantile(&stat, "cycle_seconds", "", 0.999) ==
		    0.7);
	/* No more than the largest. */
	assert_true(plx_stat_quantile(&stat, "lock_held_seconds",
				      "lock=\"look\",", 0.5) == 0.00002);
	plx_stat_release(&stat);
}

static void people_read_a_table(void **state)
{
	struct plx_metrics metrics = { .since_s = 1000, .now_s = 1125 };
	char *text = NULL;
	size_t size = 0;
	FILE *out = open_memstream(&text, &size);
	struct plx_stat stat;

	(void) state;
	metrics.refusals[PLX_REFUSED_LIMITS] = 3;
	metrics.now.gpus_elastic = 12;
	read_back(&metrics, &stat);
	plx_stat_print(&stat, 1130, out);
	fclose(out);
	assert_non_null(strstr(text, "counted for 2m05s, last told 5s ago\n"));
	assert_non_null(strstr(text, "\nrefused   3 limits, 0 room, "));
	assert_non_null(strstr(text, "\nGPUs      12 elastic, 0 rigid, 0 idle; "
				     "0 kept back"));
	assert_null(strstr(text, "wanted"));
	free(text);
	plx_stat_release(&stat);
}

static void programs_read_json(void **state)
{
	struct plx_metrics metrics = { .kills = 2 };
	struct plx_stat stat;
	json_t *json;
	json_t *times;

	(void) state;
	plx_times_add(&metrics.cycles, 0.0004);
	metrics.resizes[PLX_RESIZE_GROW] = 5;
	read_back(&metrics, &stat);
	json = plx_stat_json(&stat);
	assert_true(json_number_value(json_object_get(json, "kills_total")) ==
		    2);
	assert_true(json_number_value(json_object_get(
			    json_object_get(json, "resizes_total"), "grow")) ==
		    5);
	times = json_object_get(
		json_object_get(json, "cycle_seconds_quantiles"), "all");
	assert_true(json_number_value(json_object_get(times, "p99")) == 0.0004);
	json_decref(json);
	plx_stat_release(&stat);
}

static void other_text_is_refused_or_passed_over(void **state)
{
	struct plx_stat stat;
	struct plx_error err;

	(void) state;
	assert_int_equal(-1, plx_stat_read("", &stat, &err));
	assert_int_equal(-1, plx_stat_read("node_load1 1\n", &stat, &err));
	assert_int_equal(-1,
			 plx_stat_read("pollux_x{a=\"b\" 1\n", &stat, &err));
	assert_int_equal(-1, plx_stat_read("pollux_x one\n", &stat, &err));
	assert_int_equal(0, plx_stat_read("# x\n\npollux_x 1\npollux_ 2", &stat,
					  &err));
	assert_int_equal(1, stat.count);
	plx_stat_release(&stat);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_was_written_is_read),
		cmocka_unit_test(quantiles_are_bounds_of_buckets),
		cmocka_unit_test(people_read_a_table),
		cmocka_unit_test(programs_read_json),
		cmocka_unit_test(other_text_is_refused_or_passed_over),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
