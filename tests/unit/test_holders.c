/* SPDX-License-Identifier: MIT */
/* test_holders.c - which processes are a job's, and of which step */

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "spank/pollux/holders.h"
#include "unit.h"

static void a_word_names_the_steps_that_run(void **state)
{
	struct plx_known_steps known;

	(void) state;
	assert_int_equal(plx_known_steps_parse("7:0,3,5", &known), 0);
	assert_int_equal(known.next, 7);
	assert_int_equal(known.count, 3);
	assert_true(plx_known_steps_has(&known, 3));
	assert_false(plx_known_steps_has(&known, 4));
}

static void newer_steps_are_not_taken_for_ended(void **state)
{
	struct plx_known_steps known;

	(void) state;
	assert_int_equal(plx_known_steps_parse("7:", &known), 0);
	assert_false(plx_known_steps_has(&known, 6));
	assert_true(plx_known_steps_has(&known, 7));
	assert_true(plx_known_steps_has(&known, 1u << 30));
}

static void without_a_word_no_step_has_ended(void **state)
{
	struct plx_known_steps known;

	(void) state;
	assert_true(plx_known_steps_has(NULL, 0));
	assert_int_equal(plx_known_steps_parse("7:*", &known), 0);
	assert_int_equal(known.next, 7);
	assert_true(plx_known_steps_has(&known, 0));
}

static void a_broken_word_is_none(void **state)
{
	static const char *const texts[] = {
		"",	":",	"7",	"7;1",	"-1:2",	 "7:a",
		"7:1a", "7:-1", "7:*1", "7:1*", "7:1;2", "99999999999:1",
		" 7:1", "7:,",
	};
	struct plx_known_steps known;
	char many[1024] = "999:";

	(void) state;
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
		assert_int_equal(plx_known_steps_parse(texts[i], &known), -1);
	assert_int_equal(plx_known_steps_parse(NULL, &known), -1);
	for (int i = 0; i < 65; i++)
		strcat(many, i ? ",1" : "1");
	assert_int_equal(plx_known_steps_parse(many, &known), -1);
}

static void paths_tell_the_step(void **state)
{
	static const struct {
		const char *path;
		bool ours;
		uint32_t step;
	} cases[] = {
		{ "/slurm/uid_1/job_5/step_7/task_0", true, 7 },
		{ "/slurm/uid_1/job_5/step_7", true, 7 },
		{ "/slurm/uid_1/job_5/step_7+1/task_0", true, 7 },
		{ "/slurm/uid_1/job_5/step_batch/task_0", true, UINT32_MAX },
		{ "/slurm/uid_1/job_5/step_extern", true, UINT32_MAX },
		{ "/slurm/uid_1/job_5/step_99999999999", true, UINT32_MAX },
		{ "/slurm/uid_1/job_5", false, 0 },
		{ "/slurm/uid_1/job_55/step_7", false, 0 },
		{ "/slurm/uid_1/job_4/step_7", false, 0 },
		{ "/", false, 0 },
		{ "", false, 0 },
	};

	(void) state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		uint32_t step = 0;
		bool ours = plx_step_of_path(cases[i].path,
					     "/slurm/uid_1/job_5", &step);

		assert_int_equal(ours, cases[i].ours);
		if (ours)
			assert_int_equal(step, cases[i].step);
	}
}

#define NOBODY 65534

/* Is a process of this user, called slurmstepd, taken for it? */
static bool is_taken(uid_t user)
{
	char pid[16];
	char byte = 0;
	int ends[2];
	bool is = false;
	pid_t child;

	assert_int_equal(pipe(ends), 0);
	child = fork();
	if (child == 0) {
		/* As of a program that must not be looked into: root's. */
		if (setuid(user) < 0 || prctl(PR_SET_DUMPABLE, 0) < 0 ||
		    prctl(PR_SET_NAME, "slurmstepd") < 0 ||
		    write(ends[1], "x", 1) != 1)
			_exit(1);
		pause();
	}
	assert_int_equal(read(ends[0], &byte, 1), 1);
	snprintf(pid, sizeof(pid), "%d", (int) child);
	is = plx_is_stepd(pid);
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
	close(ends[0]);
	close(ends[1]);
	return is;
}

static void a_process_of_a_user_is_no_slurmstepd(void **state)
{
	(void) state;
	if (geteuid() != 0)
		skip();
	assert_true(is_taken(0));
	assert_false(is_taken(NOBODY));
	assert_false(plx_is_stepd("1"));
	assert_false(plx_is_stepd("0"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_word_names_the_steps_that_run),
		cmocka_unit_test(newer_steps_are_not_taken_for_ended),
		cmocka_unit_test(without_a_word_no_step_has_ended),
		cmocka_unit_test(a_broken_word_is_none),
		cmocka_unit_test(paths_tell_the_step),
		cmocka_unit_test(a_process_of_a_user_is_no_slurmstepd),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
