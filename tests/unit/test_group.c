/* SPDX-License-Identifier: MIT */
/* test_group.c - sums of jobs, chosen columns, times and lists of nodes */

#include <math.h>
#include <stdlib.h>
#include <time.h>

#include "report/columns.h"
#include "report/group.h"
#include "report/job_efficiency.h"
#include "report_world.h"

#define assert_near(want, got) assert_true(fabs((want) - (got)) < 1e-6)

/* 2026-01-01T23:59:00 in UTC, a Thursday. */
#define EVE	 1767311940
#define TEXT(x)	 TEXT_(x)
#define TEXT_(x) #x

static int utc(void **state)
{
	(void) state;
	setenv("TZ", "UTC", 1);
	tzset();
	return 0;
}

/* Two jobs of ada, one across midnight; one of bob's, which was cancelled. */
static const char rows[] =
	"1|COMPLETED|1767311940|1767311940|1767312120|gres/gpu=2|n1|ada|\n"
	"2|COMPLETED|1767398400|1767398410|1767398470|gres/gpu=1|n1|ada|"
	"[pollux v=1 launcher=0 ack=0 phase=done resizes=1 pause=0.5,0.5]\n"
	"3|CANCELLED|1767311940|None|1767311945||None assigned|bob|\n";

static void sum(struct world *world, const char *by, struct plx_groups *groups)
{
	struct plx_efficiency_setting setting = { .cluster_gpus = 2 };
	struct plx_error err = { .text = "" };

	world_open(world, rows);
	assert_int_equal(0,
			 plx_efficiency_make(&world->history, &setting, &err));
	assert_int_equal(0, plx_group_make(&world->history, by, groups, &err));
}

static void a_user_has_all_of_ones_jobs(void **state)
{
	struct plx_groups groups;
	struct world world;
	const struct plx_group *ada;
	const struct plx_group *bob;

	(void) state;
	sum(&world, "user", &groups);
	assert_int_equal(2, groups.count);
	ada = &groups.groups[0];
	bob = &groups.groups[1];
	assert_string_equal("ada", ada->key);
	assert_string_equal("bob", bob->key);
	assert_int_equal(2, ada->jobs);
	assert_int_equal(1, ada->elastic);
	assert_int_equal(2, ada->completed);
	assert_int_equal(180 * 2 + 60, ada->gpu_seconds);
	assert_near(5, ada->queued_s);
	assert_near((180 + 70) / 2.0, ada->finish_s);
	assert_near(0.5, ada->lost_s);
	/* Each had the cluster to itself; one did not take all of it. */
	assert_near(70.0 / 60, ada->rho_worst);
	assert_near((1 + 70.0 / 60) / 2, ada->rho);
	world_close(&world);
	plx_group_release(&groups);
}

static void over_nothing_there_is_no_mean(void **state)
{
	struct plx_groups groups;
	struct world world;

	(void) state;
	sum(&world, "state", &groups);
	assert_int_equal(2, groups.count);
	assert_string_equal("CANCELLED", groups.groups[0].key);
	assert_int_equal(0, groups.groups[0].gpu_seconds);
	assert_near(5, groups.groups[0].finish_s);
	assert_true(isnan(groups.groups[0].goodput));
	assert_true(isnan(groups.groups[0].efficiency));
	assert_true(isnan(groups.groups[0].fixed));
	assert_true(isnan(groups.groups[0].rho));
	assert_true(isnan(groups.groups[0].rho_worst));
	world_close(&world);
	plx_group_release(&groups);
}

/* Jobs count where they were submitted, GPU time where it was held. */
static void midnight_divides_gpu_time_but_no_job(void **state)
{
	static const struct {
		const char *by;
		size_t count;
		struct {
			const char *key;
			int jobs;
			int64_t gpu_seconds;
		} want[3];
	} cases[] = {
		{ "hour",
		  3,
		  { { "2026-01-01T23", 2, 120 },
		    { "2026-01-02T00", 0, 240 },
		    { "2026-01-03T00", 1, 60 } } },
		{ "day",
		  3,
		  { { "2026-01-01", 2, 120 },
		    { "2026-01-02", 0, 240 },
		    { "2026-01-03", 1, 60 } } },
		{ "week", 1, { { "2026-W01", 3, 420 } } },
		{ "month", 1, { { "2026-01", 3, 420 } } },
		{ "year", 1, { { "2026", 3, 420 } } },
	};

	(void) state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct plx_groups groups;
		struct world world;

		sum(&world, cases[i].by, &groups);
		assert_int_equal(cases[i].count, groups.count);
		for (size_t g = 0; g < groups.count; g++) {
			assert_string_equal(cases[i].want[g].key,
					    groups.groups[g].key);
			assert_int_equal(cases[i].want[g].jobs,
					 groups.groups[g].jobs);
			assert_int_equal(cases[i].want[g].gpu_seconds,
					 groups.groups[g].gpu_seconds);
		}
		world_close(&world);
		plx_group_release(&groups);
	}
}

static void a_shape_of_centuries_is_not_cut_into_hours(void **state)
{
	struct plx_error err = { .text = "" };
	struct plx_groups groups;
	struct world world;
	int64_t gpu_seconds = 0;

	(void) state;
	world_open(&world, "1|COMPLETED|1|1|9999999999|gres/gpu=1|n1|u|\n");
	assert_int_equal(0,
			 plx_group_make(&world.history, "hour", &groups, &err));
	assert_in_range(groups.count, 20000, 20010);
	for (size_t g = 0; g < groups.count; g++)
		gpu_seconds += groups.groups[g].gpu_seconds;
	assert_true(gpu_seconds == 9999999998);
	world_close(&world);
	plx_group_release(&groups);
}

static void ways_to_sum_are_named_where_one_is_not(void **state)
{
	struct plx_history none = { .count = 0 };
	struct plx_groups groups;
	struct plx_error err;

	(void) state;
	assert_int_equal(0, plx_group_by("month", &err));
	assert_int_equal(-1, plx_group_make(&none, "colour", &groups, &err));
	assert_string_equal("cannot sum by 'colour'; want user, account, "
			    "partition, state, name, hour, day, week, month, "
			    "year",
			    err.text);
	assert_int_equal(0, plx_group_make(&none, "day", &groups, &err));
	assert_int_equal(0, groups.count);
	plx_group_release(&groups);
}

static void columns_are_read_as_sacct_reads_them(void **state)
{
	static const struct {
		const char *text;
		int count; /* -1: refused ... */
		int width; /* of the last */
		const char *why;
	} cases[] = {
		/* clang-format off */
		{ "jobid", 1, 8, NULL },
		{ "JobID,JobName%4", 2, 4, NULL },
		{ ",jobid,,user%-30,", 2, -30, NULL },
		{ "all", 24, -40, NULL },
		{ "", -1, 0, "want fields; --format=help lists them" },
		{ ",", -1, 0, "want fields; --format=help lists them" },
		{ "job", -1, 0, "no field 'job'; --format=help lists them" },
		{ "%5", -1, 0, "no field ''; --format=help lists them" },
		{ "user%", -1, 0, "User: a width is from 1 to 200" },
		{ "user%0", -1, 0, "User: a width is from 1 to 200" },
		{ "user%-201", -1, 0, "User: a width is from 1 to 200" },
		{ "all,all,all", -1, 0, "more than 48 fields" },
		/* clang-format on */
	};

	(void) state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct plx_columns columns = { .count = 0 };
		struct plx_error err;
		int rc = plx_columns_read(plx_fields_job, cases[i].text,
					  &columns, &err);

		if (cases[i].count < 0) {
			assert_int_equal(-1, rc);
			assert_string_equal(cases[i].why, err.text);
			continue;
		}
		assert_int_equal(0, rc);
		assert_int_equal(cases[i].count, columns.count);
		assert_int_equal(cases[i].width,
				 columns.widths[columns.count - 1]);
	}
}

/* What one job looks like in these columns. */
static char *line(const struct plx_record *record, const char *format,
		  enum plx_style style)
{
	struct plx_columns columns;
	struct plx_error err;
	char *text = NULL;
	size_t size = 0;
	FILE *out = open_memstream(&text, &size);

	assert_int_equal(0, plx_columns_read(plx_fields_job, format, &columns,
					     &err));
	plx_columns_row(&columns, style, record, out);
	fclose(out);
	return text;
}

static struct plx_record a_job(void)
{
	return (struct plx_record){
		.id = "3_1",
		.name = "gr\xc3\xbc\xc3\x9f|e\033",
		.state = "COMPLETED",
		.user = "ada",
		.account = "",
		.partition = "p",
		.submit_s = EVE,
		.end_s = EVE + 130,
		.queued_s = 5,
		.ran_s = 125,
		.gpu_seconds = 900,
		.resizes = 2,
		.yield = { .goodput = NAN,
			   .efficiency = 0.5,
			   .lost_s = 1.234,
			   .fixed_gpus = 4,
			   .fixed_s = 100,
			   .fixed_low_s = 90,
			   .fixed_high_s = 120,
			   .beyond = true,
			   .rho = 1.5 },
	};
}

static void people_get_texts_and_programs_numbers(void **state)
{
	static const struct {
		const char *format;
		const char *people;
		const char *programs;
	} cases[] = {
		/* clang-format off */
		{ "jobid%4", " 3_1\n", "3_1\n" },
		{ "jobname%-7,state", "gr\xc3\xbc\xc3\x9f|e? COMPLETED\n",
		  "gr\xc3\xbc\xc3\x9f?e?|COMPLETED\n" },
		{ "jobname%3", "gr\xc3\xbc\n", "gr\xc3\xbc\xc3\x9f?e?\n" },
		{ "jobname%8", " gr\xc3\xbc\xc3\x9f|e?\n",
		  "gr\xc3\xbc\xc3\x9f?e?\n" },
		{ "account%2,user", " - ada\n", "|ada\n" },
		{ "submit", "2026-01-01T23:59:00\n", TEXT(EVE) "\n" },
		{ "queued%1,ran%5,finish%5", "5 2m05s 2m10s\n",
		  "5|125|2m10s\n" },
		{ "gpuhours%4,gpuseconds%3,resizes%1", "0.25 900 2\n",
		  "0.25|900|2\n" },
		{ "goodput%1,efficiency%5,rho%4", "- 0.500 1.50\n",
		  "|0.500|1.50\n" },
		{ "lost%5,fixedtime%5", "1.23s 1m40s\n", "1.23|100.00\n" },
		{ "fixedgpus%1,fixedrange", "4 1m30s-2m00s?\n",
		  "4|1m30s-2m00s?\n" },
		{ "elastic%3,shapes", " no -\n", "no|\n" },
		/* clang-format on */
	};
	struct plx_record record = a_job();

	(void) state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		char *people = line(&record, cases[i].format, PLX_STYLE_TABLE);
		char *programs =
			line(&record, cases[i].format, PLX_STYLE_PARSABLE2);

		assert_string_equal(cases[i].people, people);
		assert_string_equal(cases[i].programs, programs);
		free(people);
		free(programs);
	}
}

static void what_is_not_known_is_empty(void **state)
{
	struct plx_record record = a_job();
	char *text;

	(void) state;
	record.yield = (struct plx_efficiency){ NAN, NAN, NAN,	 0,  NAN,
						NAN, NAN, false, NAN };
	record.submit_s = -1;
	text = line(&record, "lost,fixedgpus,fixedrange,rho",
		    PLX_STYLE_PARSABLE);
	assert_string_equal("||||\n", text);
	free(text);
	text = line(&record, "submit%1,rho%1", PLX_STYLE_TABLE);
	assert_string_equal("- -\n", text);
	free(text);
}

static void shapes_that_do_not_fit_end_in_dots(void **state)
{
	struct plx_history_span spans[200];
	struct plx_record record = a_job();
	char *text;

	(void) state;
	for (size_t i = 0; i < ARRAY_SIZE(spans); i++)
		spans[i] = (struct plx_history_span){ .start_s = 0,
						      .end_s = 2,
						      .gpus = 4,
						      .nodes = "n1",
						      .comment = "",
						      .story = "" };
	record.spans = spans;
	record.span_count = 2;
	text = line(&record, "shapes", PLX_STYLE_PARSABLE2);
	assert_string_equal("4@n1 2s;4@n1 2s\n", text);
	free(text);
	record.span_count = ARRAY_SIZE(spans);
	text = line(&record, "shapes", PLX_STYLE_PARSABLE2);
	assert_non_null(strstr(text, "...\n"));
	assert_true(strlen(text) <= 512);
	free(text);
}

static void heads_and_help_name_the_columns(void **state)
{
	struct plx_columns columns;
	struct plx_error err;
	char *text = NULL;
	size_t size = 0;
	FILE *out = open_memstream(&text, &size);

	(void) state;
	assert_int_equal(0, plx_columns_read(plx_fields_job, "rho%4,user%-6",
					     &columns, &err));
	plx_columns_head(&columns, PLX_STYLE_TABLE, out);
	plx_columns_head(&columns, PLX_STYLE_PARSABLE, out);
	plx_columns_head(&columns, PLX_STYLE_PARSABLE2, out);
	plx_columns_help(plx_fields_group, out);
	fclose(out);
	assert_int_equal(0, strncmp(text,
				    " Rho User\n---- ------\nRho|User|\n"
				    "Rho|User\nGroup          the user",
				    56));
	free(text);
}

static void json_has_keys_in_lower_case(void **state)
{
	struct plx_record record = a_job();
	json_t *json = plx_columns_json(plx_fields_job, &record);

	(void) state;
	assert_int_equal(24, json_object_size(json));
	assert_string_equal(
		"gr\xc3\xbc\xc3\x9f|e?",
		json_string_value(json_object_get(json, "jobname")));
	assert_int_equal(EVE,
			 json_integer_value(json_object_get(json, "submit")));
	assert_int_equal(2,
			 json_integer_value(json_object_get(json, "resizes")));
	assert_near(0.25, json_real_value(json_object_get(json, "gpuhours")));
	assert_true(json_is_null(json_object_get(json, "goodput")));
	assert_near(1.5, json_real_value(json_object_get(json, "rho")));
	json_decref(json);
}

static void times_are_read_as_sacct_writes_them(void **state)
{
	static const struct {
		const char *time;
		int64_t end_s; /* -1: not ended; -2: refused */
	} cases[] = {
		{ "2026-01-01T23:59:00", EVE },
		{ TEXT(EVE), EVE },
		{ "Unknown", -1 },
		{ "None", -1 },
		{ "", -1 },
		{ "0", 0 },
		{ "10000000000", 10000000000 },
		{ "10000000001", -2 },
		{ "99999999999999999999", -2 },
		{ "-5", -2 },
		{ "soon", -2 },
		{ "2026-01-01", -2 },
		{ "2026-01-01T23:59:00Z", -2 },
		{ "9999-01-01T00:00:00", -2 },
		{ "1969-01-01T00:00:00", -2 },
		{ "2026-01-01T23:59:00 and much more", -2 },
	};

	(void) state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct plx_error err;
		struct plx_rows read;
		char text[256];
		int rc;

		snprintf(text, sizeof(text), HEAD "1|RUNNING|0|0|%s||n1|u|\n",
			 cases[i].time);
		rc = plx_rows_parse(text, strlen(text), &read, &err);
		assert_int_equal(cases[i].end_s == -2 ? -1 : 0, rc);
		if (rc < 0) {
			assert_string_equal("line 2: End is not a time",
					    err.text);
			continue;
		}
		assert_true(read.rows[0].end == cases[i].end_s);
		plx_rows_release(&read);
	}
}

static void nodes_of_a_list_are_counted(void **state)
{
	static const struct {
		const char *nodes;
		int count;
	} cases[] = {
		{ "", 0 },
		{ "None assigned", 0 },
		{ "n1", 1 },
		{ "n1,n2", 2 },
		{ "n[1-3]", 3 },
		{ "n[1-3,7],x", 5 },
		{ "a[1-2],b[01]", 3 },
		{ "n[3-1]", 1 },
		{ "n[1-99999999]", 1 },
		{ "n[", 1 },
		{ "n[1-2", 2 },
	};

	(void) state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
		assert_int_equal(cases[i].count,
				 plx_nodes_count(cases[i].nodes));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_user_has_all_of_ones_jobs),
		cmocka_unit_test(over_nothing_there_is_no_mean),
		cmocka_unit_test(midnight_divides_gpu_time_but_no_job),
		cmocka_unit_test(a_shape_of_centuries_is_not_cut_into_hours),
		cmocka_unit_test(ways_to_sum_are_named_where_one_is_not),
		cmocka_unit_test(columns_are_read_as_sacct_reads_them),
		cmocka_unit_test(people_get_texts_and_programs_numbers),
		cmocka_unit_test(what_is_not_known_is_empty),
		cmocka_unit_test(shapes_that_do_not_fit_end_in_dots),
		cmocka_unit_test(heads_and_help_name_the_columns),
		cmocka_unit_test(json_has_keys_in_lower_case),
		cmocka_unit_test(times_are_read_as_sacct_writes_them),
		cmocka_unit_test(nodes_of_a_list_are_counted),
	};

	return cmocka_run_group_tests_name("group", tests, utc, NULL);
}
