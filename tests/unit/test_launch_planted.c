/* SPDX-License-Identifier: MIT */
/*
 * test_launch_planted.c - what others lay into a launcher's folders makes it
 * write nowhere else
 */

#include <fcntl.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "launcher/loop/events.h"
#include "launcher/ranks/generation.h"
#include "launcher/rank/rank_notes.h"
#include "launcher/job/run_folder.h"
#include "launcher/loop/folder_lock.h"
#include "unit.h"

#define THESIS "years of work\n"

static char root[64];
static char folder[80];
static char victim[80]; /* a file */

static const char *in(const char *name)
{
	static char path[256];

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	return path;
}

static int setup(void **state)
{
	FILE *file;

	(void) state;
	strcpy(root, "/tmp/plx-planted.XXXXXX");
	assert_non_null(mkdtemp(root));
	snprintf(folder, sizeof(folder), "%s/run", root);
	snprintf(victim, sizeof(victim), "%s/thesis", root);
	assert_int_equal(0, mkdir(folder, 0700));
	file = fopen(victim, "w");
	assert_non_null(file);
	fputs(THESIS, file);
	fclose(file);
	return 0;
}

static int teardown(void **state)
{
	char command[128];

	(void) state;
	snprintf(command, sizeof(command), "rm -r '%s'", root);
	assert_int_equal(0, system(command));
	return 0;
}

static void assert_unharmed(void)
{
	char text[256] = "";
	FILE *file = fopen(victim, "r");

	assert_non_null(file);
	assert_true(fread(text, 1, sizeof(text) - 1, file) > 0);
	fclose(file);
	assert_string_equal(THESIS, text);
}

static void the_launchers_own_file_is_no_link(void **state)
{
	struct plx_folder_lock hold;
	struct plx_error err;

	(void) state;
	assert_int_equal(0, symlink(victim, in("launcher")));
	assert_int_equal(-1,
			 plx_folder_lock_take(&hold, folder, "job 7", 0, &err));
	assert_unharmed();
	assert_non_null(strstr(err.text, "it is a symbolic link"));
}

static void events_are_not_written_through_a_link(void **state)
{
	struct plx_settings settings = { .folder = folder };

	(void) state;
	assert_int_equal(0, symlink(victim, in("events.jsonl")));
	assert_false(plx_event_write(&settings, json_pack("{s:s}", "a", "b")));
	assert_unharmed();
	assert_int_equal(0, unlink(in("events.jsonl")));
	/* A log that the user names himself may be one. */
	settings.json_log = in("events.jsonl");
	settings.folder = root;
	assert_true(plx_event_write(&settings, json_pack("{s:s}", "a", "b")));
}

static void the_fence_is_not_read_through_a_link(void **state)
{
	char other[96];
	FILE *file;

	(void) state;
	snprintf(other, sizeof(other), "%s/number", root);
	file = fopen(other, "w");
	assert_non_null(file);
	fputs("777\n", file);
	fclose(file);
	assert_int_equal(0, symlink(other, in("fence")));
	assert_int_equal(0, plx_generation_newest(folder));
}

static void notes_are_not_written_nor_cleared_through_a_link(void **state)
{
	struct plx_error err;
	char other[96];
	char note[128];

	(void) state;
	assert_int_equal(0, symlink(victim, in("here-3.n1")));
	plx_here_write(folder, 3, "n1");
	assert_false(plx_here_is(folder, 3, "n1"));
	assert_unharmed();
	/* Their folder itself. */
	snprintf(other, sizeof(other), "%s/other", root);
	snprintf(note, sizeof(note), "%s/stop-3", other);
	assert_int_equal(0, mkdir(other, 0700));
	assert_int_equal(0, close(creat(note, 0600)));
	assert_int_equal(0, symlink(other, in(".pollux")));
	assert_int_equal(-1, plx_notes_make(in(".pollux"), &err));
	plx_notes_clear(in(".pollux"), 0);
	assert_int_equal(0, access(note, F_OK));
}

static void the_lock_of_a_local_run_is_no_link(void **state)
{
	struct plx_error err;
	bool taken;

	(void) state;
	setenv("XDG_RUNTIME_DIR", folder, 1);
	assert_int_equal(0, mkdir(in("pollux"), 0700));
	assert_int_equal(0, mkdir(in("pollux/a"), 0700));
	assert_int_equal(0, symlink(victim, in("pollux/a/lock")));
	assert_int_equal(-1, plx_run_take("a", &taken, &err));
	assert_unharmed();
	unsetenv("XDG_RUNTIME_DIR");
}

#define PLANTED(test) cmocka_unit_test_setup_teardown(test, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		PLANTED(the_launchers_own_file_is_no_link),
		PLANTED(events_are_not_written_through_a_link),
		PLANTED(the_fence_is_not_read_through_a_link),
		PLANTED(notes_are_not_written_nor_cleared_through_a_link),
		PLANTED(the_lock_of_a_local_run_is_no_link),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
