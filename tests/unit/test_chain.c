/* SPDX-License-Identifier: MIT */
/*
 * test_chain.c - a device that is handed on while a job is looked at
 *
 * With real control groups. Needs root.
 */

#define _GNU_SOURCE /* unshare */
#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "spank/pollux/thread_files.h"
#include "spank/pollux/frozen.h"
#include "job_groups.h"

#define ROUNDS	 6
#define PACE_US	 1000
#define VERSION2 "/sys/fs/cgroup/unified"

enum chain { FREEZABLE, NOWHERE, THAWED };

/* Each hands the device on to the next one, and ends. */
static void be_chain(const char *device, int number, enum chain how)
{
	if (enter(DEVICES, number, "/step_0") < 0 ||
	    (how != NOWHERE && enter(FREEZER, number, "/step_0") < 0) ||
	    open(device, O_RDONLY) < 0)
		_exit(1);
	/* Nor does it outlive a test that failed. */
	while (!atomic_load(&common->stop) && kill(number - JOBS, 0) == 0) {
		atomic_fetch_add(&common->beats, 1);
		if (common->pace_us > 0)
			sleep_us(common->pace_us);
		if (fork() > 0)
			_exit(0);
	}
	_exit(0);
}

static bool goes_on(void)
{
	long before = atomic_load(&common->beats);

	sleep_ms(300);
	return atomic_load(&common->beats) != before;
}

static pid_t start_idler(const char *hierarchy, const char *below)
{
	int number = job();
	int ends[2];
	char byte = 0;
	pid_t child = -1;

	assert_int_equal(pipe(ends), 0);
	child = fork_child();
	if (child == 0) {
		if (enter(hierarchy, number, below) < 0 ||
		    write(ends[1], "x", 1) != 1)
			_exit(1);
		for (;;)
			pause();
	}
	close(ends[1]);
	assert_int_equal(read(ends[0], &byte, 1), 1);
	close(ends[0]);
	return child;
}

static void end_idler(pid_t child)
{
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
}

/* As scancel, whose signals to go on and to end thaw a step. */
static pid_t start_thawer(void)
{
	char step[PATH_MAX];
	pid_t child = -1;

	name_folder(step, FREEZER, job(), "/step_0");
	child = fork_child();
	while (child == 0) {
		(void) write_word(step, "freezer.state", "THAWED");
		sleep_ms(1);
	}
	return child;
}

/* Is it ever said that nothing is held while the chain goes on? */
static bool is_fooled(enum chain how, long pace_us, bool *is_ended)
{
	char device[PATH_MAX];
	pid_t first = -1;
	pid_t thawer = -1;
	int number = job();
	int said = 0;
	bool lives = false;

	up(device);
	common->pace_us = pace_us;
	say_device("devices.allow");
	first = fork();
	if (first == 0)
		be_chain(device, number, how);
	waitpid(first, NULL, 0);
	while (atomic_load(&common->beats) < 20)
		sleep_ms(1);
	say_device("devices.deny");
	if (how == THAWED)
		thawer = start_thawer();
	said = ask(3000);
	lives = goes_on();
	if (how == THAWED)
		end_idler(thawer);
	*is_ended = said > 0 && !lives;
	down(device);
	return said >= 0 && lives;
}

static void a_chain_that_can_be_frozen_is_ended(void **state)
{
	(void) state;
	for (int i = 0; i < ROUNDS; i++) {
		bool is_ended = false;

		assert_false(is_fooled(FREEZABLE, i * PACE_US, &is_ended));
		assert_true(is_ended);
	}
}

static void a_chain_that_cannot_is_not_taken_for_nothing(void **state)
{
	(void) state;
	for (int i = 0; i < ROUNDS; i++) {
		bool is_ended = false;

		assert_false(is_fooled(NOWHERE, i * PACE_US, &is_ended));
	}
}

static void a_chain_that_is_thawed_is_not_taken_for_nothing(void **state)
{
	(void) state;
	for (int i = 0; i < ROUNDS; i++) {
		bool is_ended = false;

		assert_false(is_fooled(THAWED, i * PACE_US, &is_ended));
	}
}

/* --- groups in groups --- */

/* What a look says of a device that is held in this group. */
static int ask_for_holder(const char *below, bool *lives)
{
	char device[PATH_MAX];
	pid_t child = -1;
	int number = job();
	int ends[2];
	char byte = 0;
	int said = 0;

	up(device);
	make_folders(DEVICES, below);
	say_device("devices.allow");
	assert_int_equal(pipe(ends), 0);
	child = fork_child();
	if (child == 0) {
		if (enter(DEVICES, number, below) < 0 ||
		    open(device, O_RDONLY) < 0 || write(ends[1], "x", 1) != 1)
			_exit(1);
		for (;;)
			pause();
	}
	assert_int_equal(read(ends[0], &byte, 1), 1);
	close(ends[0]);
	close(ends[1]);
	say_device("devices.deny");
	said = ask(2000);
	*lives = waitpid(child, NULL, WNOHANG) == 0;
	if (*lives)
		end_idler(child);
	remove_folders(DEVICES, below);
	down(device);
	return said;
}

static void a_group_is_looked_at_whatever_its_name(void **state)
{
	bool lives = true;

	(void) state;
	assert_int_equal(ask_for_holder("/step_0/.hidden/...", &lives), 1);
	assert_false(lives);
}

static void one_too_deep_is_not_taken_for_none(void **state)
{
	char below[PATH_MAX] = "/step_0";
	bool lives = false;

	(void) state;
	for (int i = 0; i < 40; i++)
		strcat(below, "/deep");
	assert_int_equal(ask_for_holder(below, &lives), INT_MIN);
	assert_true(lives);
}

/* --- what is frozen is thawed --- */

static bool thaws_within(const char *folder, long ms)
{
	for (; ms > 0; ms -= 10) {
		if (says(folder, "freezer.state", "THAWED"))
			return true;
		sleep_ms(10);
	}
	return false;
}

/* As a look freezes the job of this test, version 1. */
static void freeze(struct plx_frozen *frozen, int limit_ms)
{
	char path[PATH_MAX];

	name_folder(path, "", job(), "");
	plx_frozen_begin(frozen, FREEZER, path, true, limit_ms);
}

static bool has(const struct plx_frozen *frozen, pid_t pid)
{
	char digits[16];

	snprintf(digits, sizeof(digits), "%d", (int) pid);
	return plx_frozen_has(frozen, digits);
}

static void tasks_are_frozen_and_thawed(void **state)
{
	struct plx_frozen frozen;
	char folder[PATH_MAX];
	char step[PATH_MAX];
	pid_t child = -1;
	pid_t beside = -1;

	(void) state;
	up(NULL);
	child = start_idler(FREEZER, "/step_0");
	/* slurmstepd is in the job's own group. */
	beside = start_idler(FREEZER, "");
	name_folder(folder, FREEZER, job(), "");
	name_folder(step, FREEZER, job(), "/step_0");
	freeze(&frozen, 3000);
	assert_true(says(step, "freezer.state", "FROZEN"));
	assert_true(says(folder, "freezer.state", "THAWED"));
	assert_true(has(&frozen, child));
	assert_false(has(&frozen, beside));
	assert_false(has(&frozen, getpid()));
	plx_frozen_end(&frozen);
	assert_true(says(step, "freezer.state", "THAWED"));
	end_idler(child);
	end_idler(beside);
	down(NULL);
}

static void what_scontrol_suspends_stays_frozen(void **state)
{
	struct plx_frozen frozen;
	char step[PATH_MAX];
	pid_t child = -1;

	(void) state;
	up(NULL);
	child = start_idler(FREEZER, "/step_0");
	name_folder(step, FREEZER, job(), "/step_0");
	/* Before a look ... */
	assert_int_equal(write_word(step, "freezer.state", "FROZEN"), 0);
	freeze(&frozen, 3000);
	assert_true(has(&frozen, child));
	plx_frozen_end(&frozen);
	assert_true(says(step, "freezer.state", "FROZEN"));
	assert_int_equal(write_word(step, "freezer.state", "THAWED"), 0);
	/* ... while it goes on, and whoever thaws ... */
	for (int i = 0; i < 2; i++) {
		freeze(&frozen, 3000);
		assert_int_equal(write_word(step, "freezer.state", "FROZEN"),
				 0);
		assert_true(frozen.guard > 0);
		if (i > 0)
			kill(frozen.guard, SIGKILL);
		plx_frozen_end(&frozen);
		assert_true(says(step, "freezer.state", "FROZEN"));
		assert_int_equal(write_word(step, "freezer.state", "THAWED"),
				 0);
	}
	/* ... and what it resumes, or scancel kills, is seen to run. */
	freeze(&frozen, 3000);
	assert_false(plx_frozen_is_broken(&frozen));
	assert_int_equal(write_word(step, "freezer.state", "THAWED"), 0);
	assert_true(plx_frozen_is_broken(&frozen));
	plx_frozen_end(&frozen);
	assert_true(says(step, "freezer.state", "THAWED"));
	end_idler(child);
	down(NULL);
}

static void two_lookers_leave_nothing_frozen(void **state)
{
	struct plx_frozen one;
	struct plx_frozen other;
	char step[PATH_MAX];
	pid_t child = -1;

	(void) state;
	up(NULL);
	child = start_idler(FREEZER, "/step_0");
	name_folder(step, FREEZER, job(), "/step_0");
	freeze(&one, 3000);
	freeze(&other, 3000);
	plx_frozen_end(&one);
	assert_true(plx_frozen_is_broken(&other));
	plx_frozen_end(&other);
	assert_true(says(step, "freezer.state", "THAWED"));
	end_idler(child);
	down(NULL);
}

static void who_looks_freezes_himself_never(void **state)
{
	struct plx_frozen frozen;
	char step[PATH_MAX];
	pid_t looker = -1;
	int number = job();
	int status = -1;

	(void) state;
	up(NULL);
	looker = fork();
	if (looker == 0) {
		char path[PATH_MAX];

		name_folder(path, "", number, "");
		if (enter(FREEZER, number, "/step_0") < 0)
			_exit(1);
		plx_frozen_begin(&frozen, FREEZER, path, true, 3000);
		_exit(frozen.count == 1 ? 0 : 2);
	}
	for (int i = 0; i < 300 && waitpid(looker, &status, WNOHANG) == 0; i++)
		sleep_ms(10);
	if (status != 0) {
		name_folder(step, FREEZER, number, "/step_0");
		(void) write_word(step, "freezer.state", "THAWED");
	}
	assert_int_equal(status, 0);
	down(NULL);
}

static void none_stays_frozen_when_the_looker_dies_or_hangs(void **state)
{
	char step[PATH_MAX];
	struct plx_frozen frozen;
	pid_t child = -1;
	pid_t looker = -1;
	char path[PATH_MAX];

	(void) state;
	up(NULL);
	child = start_idler(FREEZER, "/step_0");
	name_folder(path, "", job(), "");
	name_folder(step, FREEZER, job(), "/step_0");
	looker = fork();
	if (looker == 0) {
		plx_frozen_begin(&frozen, FREEZER, path, true, 60000);
		kill(getpid(), SIGKILL);
	}
	waitpid(looker, NULL, 0);
	assert_true(thaws_within(step, 2000));
	freeze(&frozen, 300);
	assert_true(has(&frozen, child));
	assert_true(thaws_within(step, 3000));
	assert_false(has(&frozen, child));
	assert_true(plx_frozen_is_broken(&frozen));
	plx_frozen_end(&frozen);
	/* Nor when the one that thaws is killed. */
	freeze(&frozen, 60000);
	assert_true(frozen.guard > 0);
	kill(frozen.guard, SIGKILL);
	plx_frozen_end(&frozen);
	assert_true(says(step, "freezer.state", "THAWED"));
	end_idler(child);
	down(NULL);
}

/* In the kernel, where it waits for a page that never comes. */
static void wait_for_ever(void)
{
	char *page = page_that_never_comes();
	int ends[2];

	if (!page || pipe(ends) < 0)
		_exit(1);
	atomic_store(&common->beats, 1);
	_exit(write(ends[1], page, 1) == 1 ? 0 : 1);
}

static void one_that_does_not_freeze_holds_up_nobody(void **state)
{
	struct plx_frozen frozen;
	int number = job();
	pid_t child = -1;

	(void) state;
	up(NULL);
	child = fork_child();
	if (child == 0) {
		if (enter(DEVICES, number, "/step_0") == 0 &&
		    enter(FREEZER, number, "/step_0") == 0)
			wait_for_ever();
		_exit(1);
	}
	for (int i = 0; !atomic_load(&common->beats) && i < 500; i++)
		sleep_ms(10);
	sleep_ms(100);
	freeze(&frozen, 3000);
	assert_int_equal(waitpid(child, NULL, WNOHANG), 0);
	assert_false(has(&frozen, child));
	plx_frozen_end(&frozen);
	/* It does nothing, as two looks show. */
	assert_int_equal(ask(3000), 0);
	end_idler(child);
	down(NULL);
}

static void tasks_are_frozen_by_version_2(void **state)
{
	struct plx_frozen frozen;
	char path[PATH_MAX];
	char task[PATH_MAX];
	pid_t child = -1;
	pid_t below = -1;

	(void) state;
	if (geteuid() != 0 || access(VERSION2 "/cgroup.procs", W_OK) < 0)
		skip();
	make_folders(VERSION2, "/step_0/user/task_0/of_the_user");
	child = start_idler(VERSION2, "/step_0/user/task_0");
	below = start_idler(VERSION2, "/step_0/user/task_0/of_the_user");
	name_folder(path, "", job(), "");
	name_folder(task, VERSION2, job(), "/step_0/user/task_0");
	plx_frozen_begin(&frozen, VERSION2, path, false, 3000);
	assert_true(says(task, "cgroup.events", "frozen 1"));
	assert_true(has(&frozen, child));
	/* The group above does not wait for those in it. */
	for (int i = 0; i < 200 && !has(&frozen, below); i++)
		sleep_ms(10);
	assert_true(has(&frozen, below));
	assert_false(has(&frozen, getpid()));
	plx_frozen_end(&frozen);
	assert_true(says(task, "cgroup.freeze", "0"));
	end_idler(child);
	end_idler(below);
	remove_folders(VERSION2, "/step_0/user/task_0/of_the_user");
}

static void without_groups_nothing_is_frozen(void **state)
{
	struct plx_frozen frozen;

	(void) state;
	plx_frozen_begin(&frozen, "", "", true, 3000);
	assert_false(has(&frozen, getpid()));
	plx_frozen_end(&frozen);
	plx_frozen_begin(&frozen, "/proc", "", false, 3000);
	assert_false(has(&frozen, getpid()));
	plx_frozen_end(&frozen);
}

/* --- what a look costs --- */

#define THREADS 64
#define OPENED	100
#define COPIES	2 /* tables of files that they share, by turns */

static void *be_thread(void *own)
{
	if (own && unshare(CLONE_FILES) < 0)
		return NULL;
	atomic_fetch_add(&common->beats, 1);
	for (;;)
		pause();
}

/* Two of these start threads by turns; one of them has files of its own. */
static void *start_threads(void *own)
{
	pthread_t thread;

	if (own && unshare(CLONE_FILES) < 0)
		return NULL;
	for (int i = own ? 1 : 0; i < THREADS; i += COPIES) {
		while (atomic_load(&common->beats) < i)
			sleep_ms(1);
		if (pthread_create(&thread, NULL, be_thread, NULL) != 0)
			_exit(1);
	}
	for (;;)
		pause();
}

/* A process of the job with many threads; each: of files of its own. */
static pid_t start_threaded(bool each)
{
	int number = job();
	pthread_t thread;
	pid_t child = fork_child();

	if (child > 0) {
		for (int i = 0; atomic_load(&common->beats) < THREADS; i++) {
			assert_true(i < 1000);
			sleep_ms(10);
		}
		return child;
	}
	if (enter(DEVICES, number, "/step_0") < 0 ||
	    enter(FREEZER, number, "/step_0") < 0)
		_exit(1);
	for (int i = 0; i < OPENED; i++)
		(void) open("/dev/null", O_RDONLY);
	for (int i = 0; i < (each ? THREADS : COPIES); i++) {
		if (pthread_create(&thread, NULL,
				   each ? be_thread : start_threads,
				   each || i > 0 ? common : NULL) != 0)
			_exit(1);
	}
	for (;;)
		pause();
}

/* kcmp(2) is asked so often to know the threads of a process apart. */
static long compare_threads(pid_t pid, int *tables)
{
	struct plx_thread_files seen = { .count = 0 };
	char path[64];
	DIR *dir = NULL;
	struct dirent *entry = NULL;

	snprintf(path, sizeof(path), "/proc/%d/task", (int) pid);
	dir = opendir(path);
	assert_non_null(dir);
	while ((entry = readdir(dir))) {
		if (atoi(entry->d_name) > 0)
			(void) plx_thread_files_has(&seen, atoi(entry->d_name));
	}
	closedir(dir);
	*tables = seen.count;
	return seen.compared;
}

static void threads_that_share_files_are_looked_at_once(void **state)
{
	int tables = 0;
	long compared = 0;
	pid_t child = -1;

	(void) state;
	up(NULL);
	child = start_threaded(false);
	compared = compare_threads(child, &tables);
	assert_int_equal(tables, COPIES);
	assert_true(compared <= 3 * (THREADS + COPIES));
	assert_int_equal(ask(5000), 0);
	print_message("# %ld calls of kcmp, %ld entries, frozen for %d ms\n",
		      compared, common->last.entries,
		      (int) common->last.frozen_ms);
	assert_true(common->last.entries < 8L * (THREADS + OPENED));
	end_idler(child);
	down(NULL);
}

static void threads_of_own_files_are_told_apart_by_halves(void **state)
{
	int tables = 0;
	long compared = 0;
	pid_t child = -1;

	(void) state;
	up(NULL);
	child = start_threaded(true);
	compared = compare_threads(child, &tables);
	assert_int_equal(tables, THREADS + 1);
	assert_true(compared <= 7L * (THREADS + 1));
	assert_int_equal(ask(5000), 0);
	print_message("# %ld calls of kcmp, %ld entries, frozen for %d ms\n",
		      compared, common->last.entries,
		      (int) common->last.frozen_ms);
	end_idler(child);
	down(NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_chain_that_can_be_frozen_is_ended),
		cmocka_unit_test(a_chain_that_cannot_is_not_taken_for_nothing),
		cmocka_unit_test(
			a_chain_that_is_thawed_is_not_taken_for_nothing),
		cmocka_unit_test(a_group_is_looked_at_whatever_its_name),
		cmocka_unit_test(one_too_deep_is_not_taken_for_none),
		cmocka_unit_test(tasks_are_frozen_and_thawed),
		cmocka_unit_test(what_scontrol_suspends_stays_frozen),
		cmocka_unit_test(two_lookers_leave_nothing_frozen),
		cmocka_unit_test(who_looks_freezes_himself_never),
		cmocka_unit_test(
			none_stays_frozen_when_the_looker_dies_or_hangs),
		cmocka_unit_test(one_that_does_not_freeze_holds_up_nobody),
		cmocka_unit_test(tasks_are_frozen_by_version_2),
		cmocka_unit_test(without_groups_nothing_is_frozen),
		cmocka_unit_test(threads_that_share_files_are_looked_at_once),
		cmocka_unit_test(threads_of_own_files_are_told_apart_by_halves),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
