/* SPDX-License-Identifier: MIT */
/* test_rank.c - pollux-rank: its place, its output, its notes, its share */
#include <config.h>

#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "launcher/rank/rank_bind.h"
#include "launcher/rank/rank_notes.h"
#include "launcher/rank/rank_place.h"
#include "launcher/rank/rank_stop.h"
#include "launcher/rank/rank_tee.h"
#include "launcher/rank/rank_watch.h"
#include "unit.h"
#include "wire/env.h"
#include "wire/run_page.h"

#ifdef HAVE_HWLOC
#include "launcher/rank/rank_share.h"
#endif

/* An environment of name, value, name, value... */
static const char *const *vars;

static char *get(const char *name)
{
	for (int i = 0; vars[i]; i += 2) {
		if (!strcmp(vars[i], name))
			return (char *) vars[i + 1];
	}
	return NULL;
}

static void srun_says_who_a_rank_is(void **state)
{
	static const char *const slurm[] = {
		"SLURM_PROCID",
		"5",
		"SLURM_STEP_NUM_TASKS",
		"7",
		"SLURM_LOCALID",
		"1",
		"SLURM_NODEID",
		"2",
		"SLURM_STEP_NUM_NODES",
		"3",
		"SLURM_STEP_TASKS_PER_NODE",
		"2(x2),3",
		NULL,
	};
	struct plx_place place;

	(void) state;
	vars = slurm;
	assert_int_equal(0, plx_place_find(&place, get, NULL));
	assert_int_equal(5, place.rank);
	assert_int_equal(7, place.ranks);
	assert_int_equal(1, place.local);
	assert_int_equal(3, place.locals);
	assert_int_equal(2, place.node);
	assert_int_equal(3, place.nodes);
}

static void mpirun_goes_before_the_job_it_runs_in(void **state)
{
	static const char *const both[] = {
		"SLURM_PROCID",
		"0",
		"SLURM_STEP_NUM_TASKS",
		"1",
		"OMPI_COMM_WORLD_RANK",
		"3",
		"OMPI_COMM_WORLD_SIZE",
		"4",
		"OMPI_COMM_WORLD_LOCAL_RANK",
		"3",
		"OMPI_COMM_WORLD_LOCAL_SIZE",
		"4",
		NULL,
	};
	struct plx_place place;

	(void) state;
	vars = both;
	assert_int_equal(0, plx_place_find(&place, get, NULL));
	assert_int_equal(3, place.rank);
	assert_int_equal(4, place.locals);
	assert_int_equal(1, place.nodes);
}

static void a_process_that_nobody_started_is_alone(void **state)
{
	static const char *const none[] = { NULL };
	struct plx_place place;

	(void) state;
	vars = none;
	assert_int_equal(0, plx_place_find(&place, get, NULL));
	assert_int_equal(0, place.rank);
	assert_int_equal(1, place.ranks);
	assert_int_equal(1, place.locals);
}

static void nonsense_is_refused(void **state)
{
	static const char *const words[] = { "SLURM_PROCID", "two", NULL };
	static const char *const beyond[] = { "SLURM_PROCID", "2",
					      "SLURM_STEP_NUM_TASKS", "2",
					      NULL };
	struct plx_place place;
	struct plx_error err;

	(void) state;
	vars = words;
	assert_int_equal(-1, plx_place_find(&place, get, &err));
	assert_string_equal("SLURM_PROCID is \"two\", want a number", err.text);
	vars = beyond;
	assert_int_equal(-1, plx_place_find(&place, get, &err));
}

/* What a script gives to torch.cuda.set_device(). */
static void a_rank_is_told_its_gpu_among_those_it_sees(void **state)
{
	const struct plx_place third = {
		.rank = 2, .ranks = 4, .local = 2, .locals = 3, .nodes = 2
	};
	static const struct {
		const char *visible;
		const char *rank;
	} cases[] = {
		{ "0,1,2,3", "2" }, { "2", "0" },  { "GPU-12ab", "0" },
		{ "", "2" },	    { NULL, "2" }, { "MIG-a,MIG-b,MIG-c", "0" },
	};

	(void) state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		unsetenv("CUDA_VISIBLE_DEVICES");
		if (cases[i].visible)
			setenv("CUDA_VISIBLE_DEVICES", cases[i].visible, 1);
		assert_int_equal(0, plx_place_export(&third, 1, NULL));
		assert_string_equal(cases[i].rank, getenv("LOCAL_RANK"));
		assert_string_equal("3", getenv("LOCAL_WORLD_SIZE"));
	}
	unsetenv("CUDA_VISIBLE_DEVICES");
}

/* For its processors: the kernel has a folder for each GPU, by number. */
static void a_rank_knows_the_number_of_its_gpu(void **state)
{
	static const struct {
		const char *visible, *numbers, *gpu;
	} cases[] = {
		{ "0,1", "4,6", "6" },
		{ "0,1", NULL, "1" },
		{ "GPU-a,GPU-b", NULL, "GPU-b" },
		{ "MIG-a,MIG-b", "4,6", "MIG-b" },
		{ NULL, NULL, NULL },
		{ "", NULL, NULL },
		{ "0,1", "", NULL },
	};
	const struct plx_place second = {
		.rank = 1, .ranks = 2, .local = 1, .locals = 2, .nodes = 1
	};

	(void) state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		const char *given[5] = { NULL };
		char gpu[16] = "";
		int n = 0;

		if (cases[i].visible) {
			given[n++] = "CUDA_VISIBLE_DEVICES";
			given[n++] = cases[i].visible;
		}
		if (cases[i].numbers) {
			given[n++] = "SLURM_STEP_GPUS";
			given[n++] = cases[i].numbers;
		}
		vars = given;
		assert_int_equal(cases[i].gpu ? 0 : -1,
				 plx_place_gpu(&second, get, gpu, sizeof(gpu)));
		if (cases[i].gpu)
			assert_string_equal(cases[i].gpu, gpu);
	}
}

/* CUDA would take the first one of the list for each of them. */
static void a_rank_sees_its_own_instance_alone(void **state)
{
	static const struct {
		const char *visible, *own;
	} cases[] = {
		{ "MIG-a,MIG-b,MIG-c", "MIG-c" },
		{ "MIG-a", "MIG-a" }, /* srun has bound it */
		{ "MIG-GPU-1/1/0,MIG-GPU-1/2/0,MIG-GPU-2/1/0",
		  "MIG-GPU-2/1/0" },
		{ "MIG-a,MIG-b,2", "2" }, /* beside whole GPUs */
		{ "0,1,MIG-c", "MIG-c" },
		{ "0,1,2", "0,1,2" },
	};
	const struct plx_place third = {
		.rank = 2, .ranks = 4, .local = 2, .locals = 3, .nodes = 2
	};

	(void) state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		const char *nccl = NULL;

		unsetenv("NCCL_MULTI_RANK_GPU_ENABLE");
		setenv("CUDA_VISIBLE_DEVICES", cases[i].visible, 1);
		assert_int_equal(0, plx_place_export(&third, 1, NULL));
		assert_string_equal(cases[i].own,
				    getenv("CUDA_VISIBLE_DEVICES"));
		nccl = getenv("NCCL_MULTI_RANK_GPU_ENABLE");
		assert_int_equal(i < 5, nccl && !strcmp(nccl, "1"));
		assert_string_equal(i < 5 ? "0" : "2", getenv("LOCAL_RANK"));
	}
	unsetenv("CUDA_VISIBLE_DEVICES");
	setenv("NCCL_MULTI_RANK_GPU_ENABLE", "0", 1);
	setenv("CUDA_VISIBLE_DEVICES", "MIG-a", 1);
	assert_int_equal(0, plx_place_export(&third, 1, NULL));
	assert_string_equal("0", getenv("NCCL_MULTI_RANK_GPU_ENABLE"));
	unsetenv("NCCL_MULTI_RANK_GPU_ENABLE");
	unsetenv("CUDA_VISIBLE_DEVICES");
}

/* CUDA would take the first one again, and its memory twice. */
static void two_ranks_do_not_share_an_instance(void **state)
{
	const struct plx_place third = {
		.rank = 2, .ranks = 3, .local = 2, .locals = 3, .nodes = 1
	};
	struct plx_error err;

	(void) state;
	setenv("CUDA_VISIBLE_DEVICES", "MIG-a,MIG-b", 1);
	assert_int_equal(-1, plx_place_export(&third, 1, &err));
	assert_non_null(strstr(err.text, "CUDA_VISIBLE_DEVICES=MIG-a,MIG-b"));
	unsetenv("CUDA_VISIBLE_DEVICES");
}

static void tasks_of_a_node_are_counted(void **state)
{
	static const struct {
		const char *text;
		int node;
		int tasks;
	} cases[] = {
		{ "4", 0, 4 },	     { "4", 1, 0 },	{ "2(x3)", 2, 2 },
		{ "2(x3),1", 3, 1 }, { "1,2,3", 1, 2 }, { "", 0, 0 },
		{ "2(x3),1", 4, 0 }, { "nodes", 0, 0 }, { "1,x", 1, 0 },
	};

	(void) state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
		assert_int_equal(cases[i].tasks,
				 plx_place_tasks(cases[i].text, cases[i].node));
}

/* What comes out of a tee that is fed data in pieces of that size. */
static void passed(const char *data, size_t piece, char *out, size_t size,
		   struct plx_tail *tail)
{
	struct plx_tee tee = { .tail = tail };
	struct pollfd wait;
	int log = -1;
	int from[2];
	int to[2];
	size_t used = 0;
	ssize_t got;

	assert_int_equal(0, pipe(from));
	assert_int_equal(0, pipe(to));
	tee.from = from[0];
	tee.to = to[1];
	for (size_t at = 0; data[at]; at += piece) {
		size_t left = strlen(data + at);

		if (left < piece)
			piece = left;
		assert_int_equal((ssize_t) piece,
				 write(from[1], data + at, piece));
		plx_tee_wants(&tee, &wait);
		wait.revents = wait.events;
		plx_tee_poll(&tee, &wait, &log, 0);
		plx_tee_wants(&tee, &wait);
		if (wait.events != POLLOUT)
			continue;
		wait.revents = POLLOUT;
		plx_tee_poll(&tee, &wait, &log, 0);
	}
	close(from[1]);
	plx_tee_drain(&tee, &log);
	close(to[1]);
	while ((got = read(to[0], out + used, size - used)) > 0)
		used += (size_t) got;
	out[used] = '\0';
	close(to[0]);
}

static void output_is_passed_on_whole(void **state)
{
	static const char text[] = "one\ntwo\n\nfour is long\nno end";
	struct plx_tail tail = { 0 };
	char out[256];

	(void) state;
	for (size_t piece = 1; piece < sizeof(text); piece++) {
		tail = (struct plx_tail){ 0 };
		passed(text, piece, out, sizeof(out), &tail);
		assert_string_equal(text, out);
	}
}

static void half_a_line_waits_for_its_end(void **state)
{
	struct plx_tail tail = { 0 };
	struct plx_tee tee = { .tail = &tail, .to = -1 };
	struct pollfd wait = { .revents = POLLIN };
	int log = -1;
	int from[2];

	(void) state;
	assert_int_equal(0, pipe(from));
	tee.from = from[0];
	assert_int_equal(6, write(from[1], "a\nhalf", 6));
	plx_tee_poll(&tee, &wait, &log, 10);
	assert_int_equal(2, tee.ready);
	plx_tee_poll(&tee, &wait, &log, 10); /* nobody reads: dropped */
	assert_int_equal(0, tee.ready);
	assert_int_equal(4, tee.used);
	assert_true(plx_tee_patience(&tee, 10.01) > 0);
	wait.revents = 0;
	plx_tee_poll(&tee, &wait, &log, 11);
	assert_int_equal(4, tee.ready);
	close(from[0]);
	close(from[1]);
}

static void the_last_lines_are_kept(void **state)
{
	struct plx_tail tail = { 0 };
	char text[PLX_EXIT_TEXT];
	char line[32];

	(void) state;
	for (int i = 0; i < 100; i++) {
		snprintf(line, sizeof(line), "line %d\n", i);
		plx_tail_add(&tail, line, strlen(line));
	}
	plx_tail_add(&tail, "end", 3);
	plx_tail_text(&tail, text);
	assert_memory_equal("line 81\n", text, 8);
	assert_string_equal("line 99\nend\n",
			    text + strlen(text) - strlen("line 99\nend\n"));
}

static void no_line_is_too_long_to_be_kept(void **state)
{
	struct plx_tail tail = { 0 };
	char text[PLX_EXIT_TEXT];

	(void) state;
	for (int i = 0; i < 200000; i++)
		plx_tail_add(&tail, i % 5000 == 4999 ? "\n" : "x", 1);
	plx_tail_text(&tail, text);
	assert_true(strlen(text) < PLX_EXIT_TEXT);
	assert_true(strlen(text) > PLX_EXIT_TEXT - 100);
}

static const char *notes_folder(void)
{
	static char folder[64];

	if (folder[0])
		return folder;
	strcpy(folder, "/tmp/plx-rank.XXXXXX");
	assert_non_null(mkdtemp(folder));
	return folder;
}

static void a_killed_rank_is_blamed_before_those_that_lost_it(void **state)
{
	struct plx_exit lost = { .rank = 1,
				 .code = 1,
				 .node = "n1",
				 .lines = "connection reset\n" };
	struct plx_exit killed = {
		.rank = 3, .signal = 9, .node = "n2", .lines = "a\nb\n"
	};
	struct plx_exit read;
	char text[256];

	(void) state;
	assert_false(plx_exit_read(notes_folder(), 7, &read));
	assert_int_equal(0, plx_exit_write(notes_folder(), 7, &lost, NULL));
	assert_true(plx_exit_read(notes_folder(), 7, &read));
	assert_int_equal(1, plx_exit_code(&read));
	assert_int_equal(0, plx_exit_write(notes_folder(), 7, &killed, NULL));
	/* Who comes later changes nothing. */
	killed.rank = 2;
	assert_int_equal(0, plx_exit_write(notes_folder(), 7, &killed, NULL));
	assert_true(plx_exit_read(notes_folder(), 7, &read));
	assert_int_equal(3, read.rank);
	assert_int_equal(137, plx_exit_code(&read));
	assert_string_equal("a\nb\n", read.lines);
	plx_exit_say(&read, text, sizeof(text));
	assert_string_equal("rank 3 on n2 was killed by signal 9 (Killed)",
			    text);
	plx_notes_clear(notes_folder(), 7);
	assert_false(plx_exit_read(notes_folder(), 7, &read));
	rmdir(notes_folder());
}

static void a_rank_that_leaves_in_mid_training_is_blamed(void **state)
{
	struct plx_exit left = {
		.rank = 1, .node = "n2", .left = true, .step = 5
	};
	struct plx_exit success = { .rank = 0, .node = "n1" };
	char folder[] = "/tmp/test_rank.XXXXXX";
	struct plx_exit read;
	char text[256];

	(void) state;
	assert_non_null(mkdtemp(folder));
	assert_int_equal(0, plx_exit_write(folder, 8, &success, NULL));
	assert_false(plx_exit_read(folder, 8, &read));
	assert_int_equal(0, plx_exit_write(folder, 9, &left, NULL));
	assert_true(plx_exit_read(folder, 9, &read));
	assert_int_equal(1, plx_exit_code(&read));
	plx_exit_say(&read, text, sizeof(text));
	assert_string_equal("rank 1 on n2 left in the middle of the training, "
			    "after step 5, with exit code 0",
			    text);
	plx_notes_clear(folder, 8);
	plx_notes_clear(folder, 9);
	assert_int_equal(0, rmdir(folder));
}

/* It has said nothing wrong itself; who waited for it has failed. */
static void a_rank_that_is_missed_is_blamed_before_all(void **state)
{
	const struct plx_rank_word word = { .rank = 1, .step = 5, .why = "n2" };
	struct plx_exit waited = { .rank = 0, .node = "n1", .code = 1 };
	char folder[] = "/tmp/test_rank.XXXXXX";
	struct plx_exit read;
	char text[256];

	(void) state;
	assert_non_null(mkdtemp(folder));
	assert_int_equal(0, plx_exit_write(folder, 8, &waited, NULL));
	assert_int_equal(1,
			 plx_rank_word_write(folder, PLX_WORD_ENDED, 8, &word));
	assert_true(plx_exit_read(folder, 8, &read));
	assert_int_equal(0, read.rank);
	assert_int_equal(1, plx_rank_word_write(folder, PLX_WORD_MISSED, 8,
						&word));
	assert_true(plx_exit_read(folder, 8, &read));
	assert_int_equal(1, plx_exit_code(&read));
	plx_exit_say(&read, text, sizeof(text));
	assert_string_equal("rank 1 on n2 ended its run in the middle of the "
			    "training, after step 5, by pollux_destroy(); the "
			    "others have waited for it",
			    text);
	plx_notes_clear(folder, 8);
	assert_int_equal(0, rmdir(folder));
}

/* As pollux-rank and its program, in one process. */
static void the_page_tells_whether_a_run_is_under_way(void **state)
{
	struct plx_run_page *page = plx_run_page_create();
	struct plx_run_page *program;
	uint64_t step = 0;

	(void) state;
	assert_non_null(page);
	program = plx_run_page_open();
	assert_non_null(program);
	assert_false(plx_run_page_read(page, &step));
	plx_run_page_write(program, true, 12);
	assert_true(plx_run_page_read(page, &step));
	assert_int_equal(12, step);
	plx_run_page_write(program, false, 13);
	assert_false(plx_run_page_read(page, &step));
}

/* As in a container, where the number is another process's. */
static void what_is_no_page_is_none(void **state)
{
	static const char *const others[] = { "/proc/self/fd/0", "/proc/1/fd/3",
					      "/proc/self/exe", "/dev/zero",
					      "" };

	(void) state;
	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
		setenv(PLX_ENV_PAGE, others[i], 1);
		assert_null(plx_run_page_open());
	}
	unsetenv(PLX_ENV_PAGE);
	assert_null(plx_run_page_open());
	plx_run_page_write(NULL, true, 1);
}

static void a_folder_without_room_says_nothing(void **state)
{
	char folder[] = "/tmp/test_rank.XXXXXX";
	char gone[64];

	(void) state;
	assert_non_null(mkdtemp(folder));
	assert_true(plx_here_works(folder));
	/* Nothing is left of the trial. */
	assert_int_equal(0, rmdir(folder));
	snprintf(gone, sizeof(gone), "%s/gone", folder);
	assert_false(plx_here_works(gone));
}

static void a_broken_note_is_none(void **state)
{
	struct plx_exit read;

	(void) state;
	mkdir(notes_folder(), 0700);
	assert_int_equal(0, plx_note_write(notes_folder(), PLX_NOTE_FAIL, 8,
					   "rank=x node=n1\nlines", NULL));
	assert_false(plx_exit_read(notes_folder(), 8, &read));
	assert_int_equal(0, plx_note_write(notes_folder(), PLX_NOTE_EXIT, 8,
					   "rank=0 code=0 signal=0\n", NULL));
	assert_false(plx_exit_read(notes_folder(), 8, &read));
	assert_int_equal(0, plx_note_write(notes_folder(), PLX_NOTE_STOP, 9,
					   NULL, NULL));
	assert_true(plx_note_is(notes_folder(), PLX_NOTE_STOP, 9));
	plx_notes_clear(notes_folder(), 0);
	assert_false(plx_note_is(notes_folder(), PLX_NOTE_STOP, 9));
	assert_false(plx_note_is(notes_folder(), PLX_NOTE_FAIL, 8));
	rmdir(notes_folder());
}

static void on_signal(int number)
{
	(void) number;
}

/* Starts a child that says when it is ready; with a handler or without. */
static pid_t start_child(bool handles, int *ready)
{
	int both[2];
	pid_t pid;
	char byte;

	assert_int_equal(0, pipe(both));
	pid = fork();
	if (pid == 0) {
		signal(SIGUSR1, handles ? on_signal : SIG_DFL);
		if (write(both[1], "x", 1) != 1)
			_exit(1);
		pause();
		_exit(handles ? 0 : 2);
	}
	assert_int_equal(1, read(both[0], &byte, 1));
	close(both[0]);
	close(both[1]);
	*ready = 1;
	return pid;
}

static void only_a_program_with_a_handler_gets_the_signal(void **state)
{
	int ready;
	int status;
	pid_t deaf = start_child(false, &ready);
	pid_t hears = start_child(true, &ready);

	(void) state;
	assert_int_equal(0, plx_stop_takers(deaf, SIGUSR1));
	assert_int_equal(0, plx_stop_send(deaf, SIGUSR1));
	assert_int_equal(1, plx_stop_takers(hears, SIGUSR1));
	/* It may not have come to its pause() yet. */
	do {
		assert_int_equal(1, plx_stop_send(hears, SIGUSR1));
		usleep(10000);
	} while (waitpid(hears, &status, WNOHANG) == 0);
	assert_int_equal(0, WEXITSTATUS(status));
	kill(deaf, SIGKILL);
	waitpid(deaf, &status, 0);
}

static void masks_of_srun_differ_or_not(void **state)
{
	(void) state;
	assert_false(plx_bind_masks_differ("0xff"));
	assert_false(plx_bind_masks_differ("0xff,0xff"));
	assert_true(plx_bind_masks_differ("0x0f,0xf0"));
	assert_true(plx_bind_masks_differ("0xff,0xff,0xfff"));
	assert_false(plx_bind_masks_differ(""));
}

static void write_file(const char *root, const char *path, const char *text)
{
	char all[256];
	FILE *out;

	snprintf(all, sizeof(all), "%s%s", root, path);
	for (char *at = strchr(all + strlen(root) + 1, '/'); at;
	     at = strchr(at + 1, '/')) {
		*at = '\0';
		mkdir(all, 0700);
		*at = '/';
	}
	out = fopen(all, "w");
	assert_non_null(out);
	fputs(text, out);
	fclose(out);
}

static void a_gpu_is_found_by_number_and_by_uuid(void **state)
{
	char root[] = "/tmp/plx-gpus.XXXXXX";
	char path[256];
	char command[64];

	(void) state;
	assert_non_null(mkdtemp(root));
	write_file(root, "/proc/driver/nvidia/gpus/0000:3b:00.0/information",
		   "Model: \t\t H200\nGPU UUID: \t GPU-11aa\n"
		   "Device Minor: \t 1\n");
	write_file(root, "/proc/driver/nvidia/gpus/0000:af:00.0/information",
		   "GPU UUID: \t GPU-22bb\nDevice Minor: \t 0\n");
	assert_int_equal(0, plx_bind_gpu_file(root, "1", path, sizeof(path)));
	assert_non_null(strstr(path, "/0000:3b:00.0/local_cpulist"));
	assert_int_equal(0,
			 plx_bind_gpu_file(root, "GPU-22", path, sizeof(path)));
	assert_non_null(strstr(path, "/0000:af:00.0/local_cpulist"));
	assert_int_equal(0, plx_bind_gpu_file(root, "MIG-GPU-22bb/1/0", path,
					      sizeof(path)));
	assert_non_null(strstr(path, "/0000:af:00.0/local_cpulist"));
	assert_int_equal(-1,
			 plx_bind_gpu_file(root, "MIG-1", path, sizeof(path)));
	assert_int_equal(-1, plx_bind_gpu_file(root, "2", path, sizeof(path)));
	assert_int_equal(-1,
			 plx_bind_gpu_file(root, "GPU-3", path, sizeof(path)));
	snprintf(command, sizeof(command), "rm -rf %s", root);
	assert_int_equal(0, system(command));
}

#ifdef HAVE_HWLOC
/* The share of a rank on a machine of 2 packages, 4 cores each, 2 threads. */
static void assert_share(const char *from, int index, int count,
			 const char *want)
{
	hwloc_topology_t topology;
	hwloc_bitmap_t set = hwloc_bitmap_alloc();
	char list[128];

	assert_int_equal(0, hwloc_topology_init(&topology));
	assert_int_equal(0, hwloc_topology_set_synthetic(topology,
							 "pack:2 core:4 pu:2"));
	assert_int_equal(0, hwloc_topology_load(topology));
	hwloc_bitmap_list_sscanf(set, from);
	plx_share_cut(topology, set, index, count);
	hwloc_bitmap_list_snprintf(list, sizeof(list), set);
	assert_string_equal(want, list);
	hwloc_bitmap_free(set);
	hwloc_topology_destroy(topology);
}

static void shares_are_even_and_of_whole_cores(void **state)
{
	(void) state;
	assert_share("0-15", 0, 1, "0-15");
	assert_share("0-15", 0, 4, "0-3");
	assert_share("0-15", 3, 4, "12-15");
	assert_share("0-15", 0, 3, "0-3");
	assert_share("0-15", 1, 3, "4-9");
	assert_share("0-15", 2, 3, "10-15");
	/* Near the second package's GPU. */
	assert_share("8-15", 1, 2, "12-15");
	/* More ranks than cores: by threads. */
	assert_share("0-7", 5, 8, "5");
	assert_share("0-1", 2, 4, "");
}
#endif

/* Where a log should be there is a link; nothing is begun. */
static void a_log_is_not_written_through_a_link(void **state)
{
	char folder[] = "/tmp/plx-logs.XXXXXX";
	char name[] = "true";
	char *program[] = { name, NULL };
	const struct plx_rank_order order = { .log_folder = folder,
					      .generation = 3,
					      .program = program };
	const struct plx_place place = { .rank = 2, .ranks = 3 };
	struct plx_rank rank;
	struct plx_error err;
	char victim[64];
	char path[64];

	(void) state;
	assert_non_null(mkdtemp(folder));
	assert_int_equal(0, chmod(folder, 01777)); /* one of all is allowed */
	snprintf(victim, sizeof(victim), "%s/thesis", folder);
	snprintf(path, sizeof(path), "%s/gen-0003", folder);
	assert_int_equal(0, symlink("/tmp", path));
	assert_int_equal(-1, plx_rank_start(&rank, &order, &place, &err));
	assert_non_null(strstr(err.text, "it is not a folder"));
	assert_int_equal(0, unlink(path));
	assert_int_equal(0, mkdir(path, 0700));
	snprintf(path, sizeof(path), "%s/gen-0003/rank-0002.log", folder);
	assert_int_equal(0, symlink(victim, path));
	assert_int_equal(-1, plx_rank_start(&rank, &order, &place, &err));
	assert_non_null(strstr(err.text, "it is a symbolic link"));
	assert_int_equal(-1, access(victim, F_OK));
	assert_int_equal(0, unlink(path));
	snprintf(path, sizeof(path), "%s/gen-0003", folder);
	assert_int_equal(0, rmdir(path));
	assert_int_equal(0, rmdir(folder));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(srun_says_who_a_rank_is),
		cmocka_unit_test(mpirun_goes_before_the_job_it_runs_in),
		cmocka_unit_test(a_process_that_nobody_started_is_alone),
		cmocka_unit_test(nonsense_is_refused),
		cmocka_unit_test(a_rank_knows_the_number_of_its_gpu),
		cmocka_unit_test(a_rank_sees_its_own_instance_alone),
		cmocka_unit_test(two_ranks_do_not_share_an_instance),
		cmocka_unit_test(tasks_of_a_node_are_counted),
		cmocka_unit_test(a_rank_is_told_its_gpu_among_those_it_sees),
		cmocka_unit_test(output_is_passed_on_whole),
		cmocka_unit_test(half_a_line_waits_for_its_end),
		cmocka_unit_test(the_last_lines_are_kept),
		cmocka_unit_test(no_line_is_too_long_to_be_kept),
		cmocka_unit_test(
			a_killed_rank_is_blamed_before_those_that_lost_it),
		cmocka_unit_test(a_broken_note_is_none),
		cmocka_unit_test(a_rank_that_leaves_in_mid_training_is_blamed),
		cmocka_unit_test(a_rank_that_is_missed_is_blamed_before_all),
		cmocka_unit_test(the_page_tells_whether_a_run_is_under_way),
		cmocka_unit_test(what_is_no_page_is_none),
		cmocka_unit_test(a_folder_without_room_says_nothing),
		cmocka_unit_test(only_a_program_with_a_handler_gets_the_signal),
		cmocka_unit_test(a_log_is_not_written_through_a_link),
		cmocka_unit_test(masks_of_srun_differ_or_not),
		cmocka_unit_test(a_gpu_is_found_by_number_and_by_uuid),
#ifdef HAVE_HWLOC
		cmocka_unit_test(shares_are_even_and_of_whole_cores),
#endif
	};

	return cmocka_run_group_tests_name("rank", tests, NULL, NULL);
}
