/* SPDX-License-Identifier: MIT */
/* test_launch_local.c - mpirun's line, --on-resize, names, progress */

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "launcher/job/local.h"
#include "launcher/job/local_gpus.h"
#include "launcher/job/launch_options.h"
#include "launcher/job/program_name.h"
#include "launcher/rules/progress.h"
#include "launcher/job/run_folder.h"
#include "launcher/loop/start_time.h"
#include "launcher/ranks/step_line.h"
#include "launcher/ranks/torchrun.h"
#include "unit.h"

static void how_to_stop_is_read(void **state)
{
	static const struct {
		const char *text;
		enum plx_on_resize mode;
		int signal;
		double grace_s;
		int code;
	} cases[] = {
		/* clang-format off */
		{ "auto",			  PLX_ON_RESIZE_AUTO,	   SIGUSR1, -1, 85 },
		{ "libpollux",			  PLX_ON_RESIZE_LIBPOLLUX, SIGUSR1, -1, 85 },
		{ "signal",			  PLX_ON_RESIZE_SIGNAL,	   SIGUSR1, -1, 85 },
		{ "signal:TERM",		  PLX_ON_RESIZE_SIGNAL,	   SIGTERM, -1, 85 },
		{ "signal:SIGUSR2,grace=90",	  PLX_ON_RESIZE_SIGNAL,	   SIGUSR2, 90, 85 },
		{ "auto:12,exit=3,grace=0.5",	  PLX_ON_RESIZE_AUTO,	   12,	   0.5, 3 },
		/* clang-format on */
	};

	(void) state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct plx_command c = {
			.settings = { .stop_signal = SIGUSR1,
				      .saved_code = 85 },
			.grace_s = -1,
		};
		struct plx_error err;

		if (plx_on_resize_read(cases[i].text, &c, &err) < 0)
			fail_msg("%s: %s", cases[i].text, err.text);
		assert_int_equal(cases[i].mode, c.settings.on_resize);
		assert_int_equal(cases[i].signal, c.settings.stop_signal);
		assert_int_equal(cases[i].code, c.settings.saved_code);
		assert_true(cases[i].grace_s == c.grace_s);
	}
}

static void a_stop_that_cannot_work_is_refused(void **state)
{
	static const struct {
		const char *text;
		const char *why;
	} cases[] = {
		{ "signals", "signals: want auto, libpollux or signal[:NAME]" },
		{ "libpollux:USR1",
		  "libpollux: want auto, libpollux or signal[:NAME]" },
		{ "signal:KILL", "signal KILL: want one that a program can "
				 "save on, such as USR1 or TERM" },
		{ "signal:URG", "signal URG: want one that a program can "
				"save on, such as USR1 or TERM" },
		{ "signal,exit=0", "0: want a number from 1 to 125" },
		{ "signal,grace=x", "x: want a number from 0 to 86400" },
		{ "signal,grave=3",
		  "grave=3: want grace=SECONDS or exit=CODE" },
	};

	(void) state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct plx_command c = { .grace_s = -1 };
		struct plx_error err;

		assert_int_equal(-1,
				 plx_on_resize_read(cases[i].text, &c, &err));
		assert_string_equal(cases[i].why, err.text);
	}
}

static bool has(char **args, const char *wanted)
{
	for (; *args; args++) {
		if (!strcmp(*args, wanted))
			return true;
	}
	return false;
}

static void mpirun_starts_each_rank_through_the_shim(void **state)
{
	struct plx_layout_node node = { .name = "here", .ranks = 3 };
	const struct plx_launch_step step = { .layout = { &node, 1, 3, true } };
	const struct plx_step_order order = {
		.local = true,
		.wrapper = (char *[]){ (char *) "pollux-rank", (char *) "--",
				       NULL },
		.program = (char *[]){ (char *) "./train", NULL },
	};
	char **args = plx_step_arguments(&order, &step);
	int n = 0;

	(void) state;
	assert_non_null(args);
	while (args[n])
		n++;
	assert_string_equal("mpirun", args[0]);
	assert_true(has(args, "3"));
	assert_false(has(args, "--overlap"));
	assert_string_equal("pollux-rank", args[n - 3]);
	assert_string_equal("./train", args[n - 1]);
	free(args);
}

static void names_that_lead_elsewhere_are_refused(void **state)
{
	(void) state;
	assert_true(plx_run_name_ok("train"));
	assert_true(plx_run_name_ok("train.py-2_b"));
	assert_false(plx_run_name_ok(""));
	assert_false(plx_run_name_ok(".."));
	assert_false(plx_run_name_ok("a/b"));
	assert_false(plx_run_name_ok("a b"));
	assert_false(plx_run_name_ok("0123456789012345678901234567890123456789"
				     "01234567"));
}

static void a_job_is_called_after_its_script(void **state)
{
	static const struct {
		const char *program[7]; /* at most six words */
		const char *name;
	} cases[] = {
		{ { "./train" }, "train" },
		{ { "/opt/bin/train.sh", "x.py" }, "train.sh" },
		{ { "python3", "train.py", "--lr=1" }, "train" },
		{ { "/usr/bin/python3.11", "-u", "a/gan.v2.py" }, "gan.v2" },
		{ { "python", "-W", "ignore", "-X", "dev", "t.py" }, "t" },
		{ { "python3", "-um", "my.train", "a.py" }, "my.train" },
		{ { "python3", "-c", "import x", "a.py" }, "python3" },
		{ { "python3" }, "python3" },
		{ { "python3", "-" }, "python3" },
		{ { "bash", "-lc", "./train a.sh" }, "bash" },
		{ { "sh", "-eu", "run.sh", "python3" }, "run" },
		{ { "pythonic", "train.py" }, "pythonic" },
		{ { "python3", ".hidden" }, ".hidden" },
	};
	char name[41];

	(void) state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		plx_program_name((char *const *) cases[i].program, name,
				 sizeof(name));
		assert_string_equal(cases[i].name, name);
	}
}

/* The program that torchrun would start, as one line; "": it is not torchrun.
 */
static void run_without(const char *const program[], char line[256])
{
	struct plx_error err;
	char **plain;

	assert_int_equal(0, plx_torchrun_leave_out((char *const *) program,
						   &plain, &err));
	line[0] = '\0';
	for (char **word = plain; word && *word; word++) {
		strcat(line, word == plain ? "" : " ");
		strcat(line, *word);
	}
	free(plain);
}

static void torchrun_is_left_out(void **state)
{
	static const struct {
		const char *program[10]; /* at most nine words */
		const char *line;
	} cases[] = {
		/* clang-format off */
		{ { "/no/torchrun", "a.py", "--nproc_per_node=2" },
		  "python3 -u a.py --nproc_per_node=2" },
		{ { "/no/torchrun", "--standalone", "--nproc_per_node", "2", "-r3",
		    "-t", "1", "a.py", "-m" }, "python3 -u a.py -m" },
		{ { "/no/torchrun", "--rdzv-id=7", "--run_path", "-m", "a.b", "x" },
		  "python3 -u -m a.b x" },
		{ { "/no/torchrun", "--no_python", "./train", "-x" }, "./train -x" },
		{ { "python3.11", "-O", "-m", "torch.distributed.run", "--nnodes",
		    "2", "a.py" }, "python3.11 -u a.py" },
		{ { "python3", "-m", "torch.distributed", "a.py" }, "" },
		{ { "python3", "torchrun", "a.py" }, "" },
		{ { "/no/torchrun", "--help" }, "" },
		{ { "/no/torchrun" }, "" },
		{ { "./train", "torchrun", "a.py" }, "" },
		/* clang-format on */
	};
	char line[256];

	(void) state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		run_without(cases[i].program, line);
		assert_string_equal(cases[i].line, line);
	}
}

/* With the python3 of its own environment, whatever PATH finds. */
static void torchrun_has_a_python_beside_it(void **state)
{
	const char *const by_path[] = { "torchrun", "a.py", NULL };
	char root[] = "/tmp/plx-env.XXXXXX";
	char torchrun[64], python[64], wanted[128], line[256];
	const char *const given[] = { torchrun, "a.py", NULL };
	char *path = strdup(getenv("PATH"));

	(void) state;
	assert_non_null(mkdtemp(root));
	snprintf(torchrun, sizeof(torchrun), "%s/torchrun", root);
	snprintf(python, sizeof(python), "%s/python3", root);
	assert_int_equal(0, symlink("/bin/true", torchrun));
	assert_int_equal(0, symlink("/bin/true", python));
	snprintf(wanted, sizeof(wanted), "%s -u a.py", python);
	run_without(given, line);
	assert_string_equal(wanted, line);
	setenv("PATH", root, 1);
	run_without(by_path, line);
	assert_string_equal(wanted, line);
	setenv("PATH", path, 1);
	free(path);
	unlink(torchrun);
	unlink(python);
	rmdir(root);
}

static void gpus_are_those_that_cuda_reads(void **state)
{
	static const struct {
		const char *visible;
		int gpus;
		const char *list;
	} cases[] = {
		{ "0,1", 2, "0,1" },
		{ "GPU-1f2e,MIG-3c", 2, "GPU-1f2e,MIG-3c" },
		{ "", 0, "" },
		{ "-1", 0, "" },
		{ "NoDevFiles", 0, "" },
		{ "3,-1,2", 1, "3" },
		{ "3,,2", 1, "3" },
	};

	(void) state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct plx_error err;
		int gpus = -1;
		char *list;

		setenv("CUDA_VISIBLE_DEVICES", cases[i].visible, 1);
		list = plx_local_gpus(&gpus, &err);
		assert_int_equal(cases[i].gpus, gpus);
		assert_non_null(list);
		assert_string_equal(cases[i].list, list);
		free(list);
	}
	unsetenv("CUDA_VISIBLE_DEVICES");
}

static void slow_starts_get_longer(void **state)
{
	(void) state;
	assert_true(plx_start_allowed_s(60, 0) == 60);
	assert_true(plx_start_allowed_s(60, 20) == 60);
	assert_true(plx_start_allowed_s(60, 70) == 140);
}

static void a_name_is_held_once(void **state)
{
	char root[] = "/tmp/plx-run.XXXXXX";
	char path[PLX_RUN_PATH];
	struct plx_error err;
	bool taken;
	int lock;

	(void) state;
	assert_non_null(mkdtemp(root));
	setenv("XDG_RUNTIME_DIR", root, 1);
	lock = plx_run_take("a", &taken, &err);
	assert_true(lock >= 0);
	assert_int_equal(-1, plx_run_take("a", &taken, &err));
	assert_true(taken);
	assert_int_equal(0, plx_run_find("a", path, &err));
	snprintf(path, sizeof(path), "%ld", (long) getpid());
	assert_int_equal(0, plx_run_find(path, path, &err));
	assert_int_equal(-1, plx_run_find("b", path, &err));
	assert_string_equal("no job is called b; there is: a", err.text);
	plx_run_forget("a", lock);
	assert_int_equal(-1, plx_run_find("a", path, &err));
	/* A folder that others may write to is no place for a socket. */
	snprintf(path, sizeof(path), "%s/pollux", root);
	assert_int_equal(0, chmod(path, 0777));
	assert_int_equal(-1, plx_run_take("a", &taken, &err));
	rmdir(path);
	rmdir(root);
	unsetenv("XDG_RUNTIME_DIR");
}

static void progress_is_one_line(void **state)
{
	struct plx_status status = {
		.phase = PLX_PHASE_TRAINING,
		.has_hint = true,
		.hint = { .progress = 0.4231,
			  .loss = 0.53125,
			  .goodput = 1000,
			  .samples_left = 3723000,
			  .now = { 32, 1 } },
	};
	char text[256];

	(void) state;
	plx_progress_text(&status, 4, "GPUs", text, sizeof(text));
	assert_string_equal(" 42.3 %  loss 0.5312  1000 samples/s  4 GPUs  "
			    "batch 256  ETA 1:02:03",
			    text);
	status.phase = PLX_PHASE_SAVING;
	plx_progress_text(&status, 4, "GPUs", text, sizeof(text));
	assert_non_null(strstr(text, "batch 256  saving"));
	status.has_hint = false;
	plx_progress_text(&status, 2, "ranks", text, sizeof(text));
	assert_string_equal("saving  2 ranks", text);
	plx_progress_text(&status, 2, "ranks", text, 8);
	assert_string_equal("saving ", text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(how_to_stop_is_read),
		cmocka_unit_test(a_stop_that_cannot_work_is_refused),
		cmocka_unit_test(mpirun_starts_each_rank_through_the_shim),
		cmocka_unit_test(names_that_lead_elsewhere_are_refused),
		cmocka_unit_test(a_job_is_called_after_its_script),
		cmocka_unit_test(torchrun_is_left_out),
		cmocka_unit_test(torchrun_has_a_python_beside_it),
		cmocka_unit_test(gpus_are_those_that_cuda_reads),
		cmocka_unit_test(slow_starts_get_longer),
		cmocka_unit_test(a_name_is_held_once),
		cmocka_unit_test(progress_is_one_line),
	};

	return cmocka_run_group_tests_name("launch_local", tests, NULL, NULL);
}
