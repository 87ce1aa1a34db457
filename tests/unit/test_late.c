/* SPDX-License-Identifier: MIT */
/* test_late.c - which steps are begun with what their job had before */

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>
#include <utime.h>

#include "spank/pollux/late.h"
#include "unit.h"

#define EXTERNAL    0xfffffffcu
#define SCRIPT	    0xfffffffbu
#define INTERACTIVE 0xfffffffau
#define OLD_S	    7200

static char top[64];
static char notes[128];
static char job_folder[128];
static int job;

static int open_job(void)
{
	assert_int_equal(mkdir(job_folder, 0700), 0);
	return open(job_folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}

static int make_folders(void **state)
{
	(void) state;
	strcpy(top, "/tmp/plx-late-XXXXXX");
	if (!mkdtemp(top))
		return -1;
	snprintf(notes, sizeof(notes), "%s/notes", top);
	snprintf(job_folder, sizeof(job_folder), "%s/job_5", top);
	job = open_job();
	return job < 0 ? -1 : 0;
}

static int remove_folders(void **state)
{
	char command[128];

	(void) state;
	close(job);
	snprintf(command, sizeof(command), "rm -rf %s", top);
	return system(command);
}

static void note(uint32_t next)
{
	struct plx_error err;

	assert_int_equal(plx_late_note(notes, job, next, &err), 0);
}

static bool is_late(uint32_t step)
{
	return plx_late_is(notes, job, step, false);
}

static void without_a_note_nothing_is_late(void **state)
{
	(void) state;
	assert_false(is_late(0));
	assert_false(plx_late_is(notes, job, 7, true));
}

static void steps_from_before_the_note_are_late(void **state)
{
	(void) state;
	note(7);
	assert_true(is_late(0));
	assert_true(is_late(6));
	assert_false(is_late(7));
	assert_false(is_late(30000));
}

static void a_note_is_never_made_weaker(void **state)
{
	(void) state;
	note(7);
	note(2);
	assert_true(is_late(6));
	note(9);
	assert_true(is_late(8));
}

static void of_slurms_own_steps_those_of_slurmctld_come_again(void **state)
{
	(void) state;
	note(7);
	assert_false(is_late(EXTERNAL));
	/* Of the next run, in a group that was not removed. */
	assert_false(is_late(SCRIPT));
	assert_true(is_late(INTERACTIVE));
	assert_true(plx_late_is(notes, job, EXTERNAL, true));
	assert_true(plx_late_is(notes, job, SCRIPT, true));
	/* Who took the number himself has a larger next one. */
	note(EXTERNAL + 1);
	assert_true(is_late(EXTERNAL));
}

static void components_are_not_counted(void **state)
{
	(void) state;
	/* Nor is a first step that is said to be of one. */
	note(0);
	assert_true(plx_late_is(notes, job, 0, true));
	assert_false(is_late(0));
	note(7);
	assert_true(plx_late_is(notes, job, 39000, true));
	assert_false(is_late(39000));
}

static int listen_at(const char *path)
{
	struct sockaddr_un name = { .sun_family = AF_UNIX };
	int file = socket(AF_UNIX, SOCK_STREAM, 0);

	snprintf(name.sun_path, sizeof(name.sun_path), "%s", path);
	assert_int_equal(bind(file, (struct sockaddr *) &name, sizeof(name)),
			 0);
	return file;
}

static void a_socket_tells_of_a_component(void **state)
{
	char path[200];
	int files[2];

	(void) state;
	assert_true(plx_late_names_component("/spool/n_1.2_5.4294967292.12"));
	assert_false(plx_late_names_component("/spool/n_1_5.7"));
	assert_false(plx_late_names_component("/spool/n1_5.7.0.1"));
	assert_false(plx_late_names_component("/spool/n1_5.7."));
	assert_false(plx_late_names_component("/spool/n1_5.7.x"));
	assert_false(plx_late_names_component("/spool_5.7.0/n1"));
	assert_false(plx_late_names_component(""));
	assert_false(plx_late_names_component("_"));
	snprintf(path, sizeof(path), "%s/n1_5.7", job_folder);
	files[0] = listen_at(path);
	assert_false(plx_late_component());
	snprintf(path + strlen(path), 3, ".0");
	files[1] = listen_at(path);
	assert_true(plx_late_component());
	close(files[1]);
	assert_false(plx_late_component());
	close(files[0]);
}

static void the_next_run_of_a_job_begins_anew(void **state)
{
	char before[160];
	int last = job;

	(void) state;
	note(7);
	/* The folder before lives, so that the inode is another one. */
	snprintf(before, sizeof(before), "%s.before", job_folder);
	assert_int_equal(rename(job_folder, before), 0);
	job = open_job();
	assert_false(is_late(0));
	close(last);
}

static void notes_of_an_hour_ago_go(void **state)
{
	const struct utimbuf old = { time(NULL) - OLD_S, time(NULL) - OLD_S };
	char path[192];

	(void) state;
	note(7);
	snprintf(path, sizeof(path), "%s/1.2", notes);
	assert_int_equal(close(open(path, O_CREAT | O_WRONLY, 0600)), 0);
	assert_int_equal(utime(path, &old), 0);
	note(8);
	assert_int_not_equal(access(path, F_OK), 0);
	assert_true(is_late(7));
}

static void a_folder_that_others_write_in_is_not_believed(void **state)
{
	struct plx_error err;

	(void) state;
	note(7);
	assert_int_equal(chmod(notes, 0777), 0);
	assert_false(is_late(0));
	assert_int_equal(plx_late_note(notes, job, 9, &err), -1);
	assert_int_equal(chmod(notes, 0700), 0);
	assert_true(is_late(0));
}

static void who_writes_groups_is_alone(void **state)
{
	int other = open(job_folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	int third = open(job_folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	(void) state;
	assert_true(plx_late_lock(job, false, 0));
	assert_true(plx_late_lock(other, false, 0));
	assert_false(plx_late_lock(third, true, 20));
	plx_late_unlock(job);
	plx_late_unlock(other);
	assert_true(plx_late_lock(third, true, 0));
	assert_false(plx_late_lock(job, false, 20));
	close(third);
	assert_true(plx_late_lock(job, false, 0));
	close(other);
	assert_true(plx_late_lock(-1, true, 0));
}

static void nobody_else_can_lock_a_group(void **state)
{
	struct stat about;
	int lock = -1;

	(void) state;
	assert_int_equal(plx_late_open_lock(job), -1);
	assert_int_equal(close(openat(job, "devices.allow", O_CREAT, 0200)), 0);
	lock = plx_late_open_lock(job);
	assert_true(lock >= 0);
	/* Not the folder: that can be read by all. */
	assert_int_equal(fstat(lock, &about), 0);
	assert_true(S_ISREG(about.st_mode));
	close(lock);
}

#define TEST(name)                                                             \
	cmocka_unit_test_setup_teardown(name, make_folders, remove_folders)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(without_a_note_nothing_is_late),
		TEST(steps_from_before_the_note_are_late),
		TEST(a_note_is_never_made_weaker),
		TEST(of_slurms_own_steps_those_of_slurmctld_come_again),
		TEST(components_are_not_counted),
		TEST(a_socket_tells_of_a_component),
		TEST(the_next_run_of_a_job_begins_anew),
		TEST(notes_of_an_hour_ago_go),
		TEST(a_folder_that_others_write_in_is_not_believed),
		TEST(who_writes_groups_is_alone),
		TEST(nobody_else_can_lock_a_group),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
