/* SPDX-License-Identifier: MIT */
/* test_folder.c - a job's checkpoints: which are there, which may go */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/disk/folder.h"
#include "unit.h"

static char dir[64];

static int setup(void **state)
{
	(void) state;
	strcpy(dir, "/tmp/pollux-folder.XXXXXX");
	assert_non_null(mkdtemp(dir));
	return 0;
}

static int teardown(void **state)
{
	char command[128];

	(void) state;
	snprintf(command, sizeof(command), "rm -r '%s'", dir);
	assert_int_equal(0, system(command));
	return 0;
}

static const char *at(const char *name)
{
	static char path[256];

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	return path;
}

static bool is_there(const char *name)
{
	return access(at(name), F_OK) == 0;
}

static void make_file(const char *name)
{
	FILE *file = fopen(at(name), "w");

	assert_non_null(file);
	fputs(name, file);
	fclose(file);
}

static void make(const char *name)
{
	char inside[128];

	assert_int_equal(0, mkdir(at(name), 0700));
	snprintf(inside, sizeof(inside), "%s/model", name);
	make_file(inside);
}

static void complete_ones_are_found_newest_first(void **state)
{
	struct plx_folder_entry *list;
	struct plx_error err;

	(void) state;
	make("step-000000000013");
	make("step-000000000012");
	make("step-1000000000000");
	make_file("step-000000000014.safetensors");
	make("step-000000000099.broken");
	make("step-000000000100.g1.7-00000001.tmp");
	make("step-102");
	make("mine");
	assert_int_equal(3, plx_folder_list(dir, &list, &err));
	assert_int_equal(1000000000000, list[0].step);
	assert_int_equal(13, list[1].step);
	assert_int_equal(12, list[2].step);
	free(list);
}

static void a_missing_folder_is_refused_in_a_sentence(void **state)
{
	struct plx_folder_entry *list;
	struct plx_error err;

	(void) state;
	assert_int_equal(-1, plx_folder_list("/nowhere/at/all", &list, &err));
	assert_string_equal("cannot look into /nowhere/at/all: No such file "
			    "or directory",
			    err.text);
}

static void the_newest_are_kept_and_the_one_on_disk(void **state)
{
	(void) state;
	make("step-000000000001");
	make("step-000000000002");
	make("step-000000000003");
	make("step-000000000004");
	make("step-000000000005");
	make("mine");
	plx_folder_prune(dir, 2, 1);
	assert_true(is_there("step-000000000001"));
	assert_false(is_there("step-000000000002"));
	assert_false(is_there("step-000000000003"));
	assert_true(is_there("step-000000000004"));
	assert_true(is_there("step-000000000005"));
	assert_true(is_there("mine"));
	plx_folder_prune(dir, 1, 0);
	assert_false(is_there("step-000000000001"));
	assert_false(is_there("step-000000000004"));
	assert_true(is_there("step-000000000005"));
}

static void leftovers_go_but_not_those_of_others_at_work(void **state)
{
	(void) state;
	make_file("step-000000000001.safetensors.tmp");
	make("step-000000000002.g3.1-aaaaaaaa.tmp");
	make("step-000000000003.g2.9-bbbbbbbb.tmp");
	make("step-000000000004.g3.2-cccccccc.tmp");
	make("step-000000000005.g4.1-dddddddd.tmp");
	make("step-000000000006.gone.tmp");
	make("step-000000000007");
	make("mine.tmp");
	plx_folder_clean(dir, 3, "aaaaaaaa");
	assert_false(is_there("step-000000000001.safetensors.tmp"));
	assert_true(is_there("step-000000000002.g3.1-aaaaaaaa.tmp"));
	assert_false(is_there("step-000000000003.g2.9-bbbbbbbb.tmp"));
	assert_false(is_there("step-000000000004.g3.2-cccccccc.tmp"));
	assert_true(is_there("step-000000000005.g4.1-dddddddd.tmp"));
	assert_false(is_there("step-000000000006.gone.tmp"));
	assert_true(is_there("step-000000000007"));
	assert_true(is_there("mine.tmp"));
}

static void a_commit_replaces_one_of_the_same_step(void **state)
{
	struct plx_error err;

	(void) state;
	make("old");
	make("new");
	make_file("old/first");
	assert_int_equal(0, plx_folder_commit(dir, "old", 7, true, &err));
	assert_true(is_there("step-000000000007/first"));
	assert_int_equal(0, plx_folder_commit(dir, "new", 7, true, &err));
	assert_true(is_there("step-000000000007/model"));
	assert_false(is_there("step-000000000007/first"));
	assert_false(is_there("old"));
	assert_false(is_there("new"));
}

static void a_broken_one_is_set_aside_also_twice(void **state)
{
	const struct plx_folder_entry entry = { .step = 7 };

	(void) state;
	make("step-000000000007");
	plx_folder_refuse(dir, &entry);
	assert_true(is_there("step-000000000007.broken/model"));
	make("step-000000000007");
	plx_folder_refuse(dir, &entry);
	assert_false(is_there("step-000000000007"));
	assert_true(is_there("step-000000000007.broken/model"));
}

#define IN_DIR(test) cmocka_unit_test_setup_teardown(test, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		IN_DIR(complete_ones_are_found_newest_first),
		cmocka_unit_test(a_missing_folder_is_refused_in_a_sentence),
		IN_DIR(the_newest_are_kept_and_the_one_on_disk),
		IN_DIR(leftovers_go_but_not_those_of_others_at_work),
		IN_DIR(a_commit_replaces_one_of_the_same_step),
		IN_DIR(a_broken_one_is_set_aside_also_twice),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
