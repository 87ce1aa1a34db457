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

#define NODE "n1"
#define JOB  5

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

static struct plx_late_job here(int group)
{
	return (struct plx_late_job){ .id = JOB, .node = NODE, .group = group };
}

static void note_in(int group, const char *terms, uint32_t next)
{
	struct plx_late_job it = here(group);
	struct plx_late_note note = { .next = next };
	struct plx_error err;

	assert_int_equal(plx_late_parse(terms, NODE, &note), 0);
	assert_int_equal(plx_late_note(notes, &it, &note, &err), 0);
}

static void note(uint32_t next)
{
	note_in(job, "120 " NODE, next);
}

static bool is_late_in(int group, uint32_t step)
{
	struct plx_late_job it = here(group);

	return plx_late_is(notes, &it, step, false);
}

static bool is_late(uint32_t step)
{
	return is_late_in(job, step);
}

static bool is_component_late(uint32_t step)
{
	struct plx_late_job it = here(job);

	return plx_late_is(notes, &it, step, true);
}

static void without_a_note_nothing_is_late(void **state)
{
	(void) state;
	assert_false(is_late(0));
	assert_false(is_component_late(7));
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
	assert_true(is_component_late(EXTERNAL));
	assert_true(is_component_late(SCRIPT));
	/* Who took the number himself has a larger next one. */
	note(EXTERNAL + 1);
	assert_true(is_late(EXTERNAL));
}

static void components_are_not_counted(void **state)
{
	(void) state;
	/* Nor is a first step that is said to be of one. */
	note(0);
	assert_true(is_component_late(0));
	assert_false(is_late(0));
	note(7);
	assert_true(is_component_late(39000));
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

static void where_no_group_stays_the_number_of_the_job_is_noted(void **state)
{
	(void) state;
	/* There is none, or it is gone when the step that noted has ended. */
	note_in(-1, "120 " NODE, 7);
	assert_true(is_late_in(-1, 6));
	assert_true(is_late(6));
	assert_false(is_late(7));
	note_in(job, "120 n2", 8);
	assert_true(is_late_in(-1, 7));
	note_in(job, "120 -", 9);
	assert_true(is_late_in(-1, 8));
}

static void where_one_stays_it_is_not(void **state)
{
	(void) state;
	note_in(job, "120 " NODE, 7);
	note_in(job, NULL, 7);
	assert_true(is_late(6));
	assert_false(is_late_in(-1, 6));
}

static void another_job_or_node_is_not_meant(void **state)
{
	struct plx_late_job it = here(-1);

	(void) state;
	note_in(-1, "120 -", 7);
	it.id++;
	assert_false(plx_late_is(notes, &it, 6, false));
	it = here(-1);
	it.node = "n11";
	assert_false(plx_late_is(notes, &it, 6, false));
}

static void write_note(const char *name, const char *text)
{
	char path[192];
	FILE *file = NULL;

	snprintf(path, sizeof(path), "%s/%s", notes, name);
	file = fopen(path, "w");
	assert_non_null(file);
	fputs(text, file);
	fclose(file);
}

static void notes_count_as_long_as_credentials(void **state)
{
	char text[64];
	long long now = time(NULL);

	(void) state;
	note_in(-1, "120 -", 3);
	snprintf(text, sizeof(text), "7 %lld\n", now);
	write_note("job_5.n1", text);
	assert_false(is_late(6));
	/* Nor does a new one take its number over. */
	note_in(-1, "120 -", 3);
	assert_false(is_late(6));
	assert_true(is_late(2));
	snprintf(text, sizeof(text), "7 %lld\n", now + 60);
	write_note("job_5.n1", text);
	assert_true(is_late(6));
	/* As before there was an end. */
	write_note("job_5.n1", "7\n");
	assert_true(is_late(6));
}

static void nonsense_is_no_note(void **state)
{
	const char *const wrong[] = { "",      "n1",	"120",		"120n1",
				      "-1 n1", " 1 n1", "9999999999 n1" };
	struct plx_late_note note;

	(void) state;
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
		assert_int_equal(plx_late_parse(wrong[i], NODE, &note), -1);
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
	struct plx_late_job it = here(job);
	struct plx_late_note nine = { .next = 9 };
	struct plx_error err;

	(void) state;
	note(7);
	assert_int_equal(chmod(notes, 0777), 0);
	assert_false(is_late(0));
	assert_int_equal(plx_late_note(notes, &it, &nine, &err), -1);
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
		TEST(where_no_group_stays_the_number_of_the_job_is_noted),
		TEST(where_one_stays_it_is_not),
		TEST(another_job_or_node_is_not_meant),
		TEST(notes_count_as_long_as_credentials),
		TEST(nonsense_is_no_note),
		TEST(notes_of_an_hour_ago_go),
		TEST(a_folder_that_others_write_in_is_not_believed),
		TEST(who_writes_groups_is_alone),
		TEST(nobody_else_can_lock_a_group),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
