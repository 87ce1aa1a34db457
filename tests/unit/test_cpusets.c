/* SPDX-License-Identifier: MIT */
/* test_cpusets.c - which CPUs steps keep when their job has fewer */

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "spank/pollux/cpusets.h"
#include "unit.h"

static void lists_are_read_and_written(void **state)
{
	static const struct {
		const char *text;
		const char *same; /* NULL: not a list */
	} cases[] = {
		{ "0", "0" },	    { "0-3,8", "0-3,8" },
		{ "3,2,1", "1-3" }, { "5-5", "5" },
		{ "8191", "8191" }, { "0-8191", "0-8191" },
		{ "", "" },	    { "8192", NULL },
		{ "3-1", NULL },    { "1-", NULL },
		{ "-1", NULL },	    { "1;2", NULL },
		{ "1,,2", NULL },   { "99999999999999999999", NULL },
		{ "0-8192", NULL }, { " 1", NULL },
		{ "0x1", NULL },
	};

	(void) state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct plx_cpus cpus;
		char text[64];
		int rc = plx_cpus_parse(cases[i].text, &cpus);

		assert_int_equal(cases[i].same ? 0 : -1, rc);
		if (rc < 0)
			continue;
		assert_int_equal(0, plx_cpus_print(&cpus, text, sizeof(text)));
		assert_string_equal(cases[i].same, text);
	}
}

static void a_list_that_does_not_fit_is_not_cut(void **state)
{
	struct plx_cpus cpus;
	char text[6];

	(void) state;
	assert_int_equal(0, plx_cpus_parse("0,2,44", &cpus));
	assert_int_equal(-1, plx_cpus_print(&cpus, text, sizeof(text)));
}

/* --- a job's folder, with files in place of the kernel's --- */

static char where[64];

static void put(const char *step, const char *cpus)
{
	char path[160];
	FILE *file = NULL;

	snprintf(path, sizeof(path), "%s/%s", where, step);
	(void) mkdir(path, 0700);
	strcat(path, "/cpuset.cpus");
	file = fopen(path, "w");
	assert_non_null(file);
	fprintf(file, "%s\n", cpus);
	assert_int_equal(0, fclose(file));
}

static void assert_has(const char *step, const char *cpus)
{
	char path[160];
	char text[64] = "";
	FILE *file = NULL;

	snprintf(path, sizeof(path), "%s/%s/cpuset.cpus", where, step);
	file = fopen(path, "r");
	assert_non_null(file);
	if (!fgets(text, sizeof(text), file))
		text[0] = '\0';
	(void) fclose(file);
	text[strcspn(text, "\n")] = '\0';
	assert_string_equal(cpus, text);
}

static int narrow(const char *cpus, struct plx_error *err)
{
	int folder = open(where, O_RDONLY | O_DIRECTORY);
	int rc;

	assert_true(folder >= 0);
	rc = plx_cpusets_narrow(folder, cpus, err);
	close(folder);
	return rc;
}

static int set_up(void **state)
{
	(void) state;
	strcpy(where, "/tmp/plx-cpusets-XXXXXX");
	return mkdtemp(where) ? 0 : -1;
}

static int tear_down(void **state)
{
	char command[128];

	(void) state;
	snprintf(command, sizeof(command), "rm -r %s", where);
	return system(command) == 0 ? 0 : -1;
}

static void steps_keep_what_their_job_goes_on_with(void **state)
{
	struct plx_error err;

	(void) state;
	put(".", "0-7");
	put("step_batch", "0-7");
	put("step_0", "4-7");
	put("step_1", "");
	put("else", "0-7");
	assert_int_equal(0, narrow("0-3,6", &err));
	assert_has("step_batch", "0-3,6");
	assert_has("step_0", "6");
	assert_has("step_1", "");
	assert_has("else", "0-7");
	/* Slurm's to write. */
	assert_has(".", "0-7");
}

static void a_step_that_would_have_none_gets_the_jobs(void **state)
{
	struct plx_error err;

	(void) state;
	put(".", "0-3");
	put("step_batch", "0-3");
	assert_int_equal(0, narrow("8-9", &err));
	assert_has("step_batch", "8-9");
	/* Which the kernel wants to be the job's before. */
	assert_has(".", "0-3,8-9");
}

static void so_do_the_tasks_of_a_step(void **state)
{
	struct plx_error err;

	(void) state;
	put(".", "0-3");
	put("step_0", "0-3");
	put("step_0/task_0", "0-1");
	put("step_0/task_1", "2-3");
	put("step_0/user", "0-3");
	assert_int_equal(0, narrow("0,8", &err));
	assert_has("step_0", "0");
	assert_has("step_0/task_0", "0");
	assert_has("step_0/task_1", "0");
	assert_has("step_0/user", "0-3");
}

static void a_job_that_grows_is_left_alone(void **state)
{
	struct plx_error err;

	(void) state;
	put(".", "0-3");
	put("step_batch", "0-3");
	assert_int_equal(0, narrow("0-7", &err));
	assert_has(".", "0-3");
	assert_has("step_batch", "0-3");
}

static void what_is_no_list_changes_nothing(void **state)
{
	struct plx_error err;

	(void) state;
	put(".", "0-3");
	put("step_batch", "0-3");
	assert_int_equal(-1, narrow("", &err));
	assert_int_equal(-1, narrow("(null)", &err));
	assert_string_equal("not a list of CPUs: (null)", err.text);
	assert_has("step_batch", "0-3");
}

int main(void)
{
#define IN_FOLDER(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(lists_are_read_and_written),
		cmocka_unit_test(a_list_that_does_not_fit_is_not_cut),
		IN_FOLDER(steps_keep_what_their_job_goes_on_with),
		IN_FOLDER(a_step_that_would_have_none_gets_the_jobs),
		IN_FOLDER(so_do_the_tasks_of_a_step),
		IN_FOLDER(a_job_that_grows_is_left_alone),
		IN_FOLDER(what_is_no_list_changes_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
