/* SPDX-License-Identifier: MIT */
/*
 * test_fence.c - who may write, and what survivors and those who are told to
 * leave write in the end
 */

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/wait.h>
#include <unistd.h>

#include "agent/state/rescue.h"
#include "agent/state/restore.h"
#include "agent/state/save.h"
#include "agent/state/store.h"
#include "save_world.h"
#include "unit.h"

static void generation(const char *number)
{
	assert_int_equal(0, setenv("POLLUX_GENERATION", number, 1));
}

/* What a child does; its exit code. */
static int in_child(struct world *w, int (*what)(struct world *))
{
	pid_t pid = fork();
	int status;

	assert_true(pid >= 0);
	if (pid == 0)
		_exit(what(w));
	assert_int_equal(pid, waitpid(pid, &status, 0));
	return status;
}

static int next_generation(struct world *w)
{
	struct plx_error err;
	struct pollux *p;

	setenv("POLLUX_GENERATION", "4", 1);
	p = world_start(w, &err);
	if (!p || p->cursor.step != 1)
		return 1;
	world_step(w, p, 5);
	if (plx_save(p, PLX_SAVE_FLUSHED) != 0)
		return 2;
	pollux_destroy(p);
	return 0;
}

static void an_old_generation_can_save_no_more(void **state)
{
	struct world *w = *state;
	struct pollux *p;
	uint64_t steps[9];

	generation("3");
	p = world_run(w);
	world_step(w, p, 1);
	assert_int_equal(0, plx_save(p, PLX_SAVE_FLUSHED));
	assert_false(plx_fence_passed(&p->store->fence));
	assert_int_equal(0, in_child(w, next_generation));
	assert_true(plx_fence_passed(&p->store->fence));
	world_step(w, p, 9);
	assert_int_equal(POLLUX_ESTATE, plx_save(p, PLX_SAVE_FLUSHED));
	assert_non_null(strstr(p->err.text, "cannot save step 9 in /"));
	assert_non_null(strstr(p->err.text,
			       ": generation 4 has gone on from these "
			       "checkpoints: generation 3 may write no more"));
	/* Nor in the background, nor as a rescue. */
	assert_int_equal(POLLUX_ESTATE, plx_save(p, PLX_SAVE_ASYNC));
	assert_int_equal(-1, plx_rescue(p));
	assert_int_equal(2, world_steps(w, steps, 9));
	assert_int_equal(5, steps[0]);
	assert_int_equal(1, steps[1]);
	pollux_destroy(p);
	/* A late start of an old one fails as well. */
	assert_null(world_start(w, &(struct plx_error){ .text = "" }));
}

static void in_the_background_it_learns_that_too(void **state)
{
	struct world *w = *state;
	struct pollux *p;

	generation("3");
	p = world_run(w);
	world_step(w, p, 1);
	assert_int_equal(0, plx_save(p, PLX_SAVE_FLUSHED));
	assert_int_equal(0, in_child(w, next_generation));
	world_step(w, p, 9);
	assert_int_equal(0, plx_save(p, PLX_SAVE_ASYNC));
	p->config.checkpoint_every_s = 1000;
	for (int i = 0; i < 500 && !plx_save_due(p); i++)
		usleep(10000);
	assert_int_equal(POLLUX_ESTATE, plx_save(p, PLX_SAVE_ASYNC));
	pollux_destroy(p);
}

static void one_that_is_called_back_saves_again(void **state)
{
	struct world *w = *state;
	struct pollux *p;

	generation("3");
	p = world_run(w);
	world_step(w, p, 1);
	assert_int_equal(0, plx_save(p, PLX_SAVE_FLUSHED));
	assert_int_equal(0, in_child(w, next_generation));
	assert_int_equal(0, plx_restore_resume(p, 0));
	world_step(w, p, 9);
	assert_int_equal(0, plx_save(p, PLX_SAVE_FLUSHED));
	/* The one that it takes the place of cannot any more. */
	assert_int_not_equal(0, in_child(w, next_generation));
	assert_int_equal(0, plx_restore_resume(p, 6));
	world_step(w, p, 10);
	assert_int_equal(0, plx_save(p, PLX_SAVE_FLUSHED));
	assert_int_equal(6, p->store->fence.own.generation);
	pollux_destroy(p);
}

static void a_fence_that_lost_its_number_stops_nobody(void **state)
{
	struct world *w = *state;
	const char *path = world_path(w, "fence");
	struct pollux *p;

	generation("3");
	p = world_run(w);
	assert_int_equal(0, truncate(path, 0));
	assert_int_equal(0, truncate(path, 32)); /* zeros */
	world_step(w, p, 1);
	assert_int_equal(0, plx_save(p, PLX_SAVE_FLUSHED));
	assert_int_equal(0, in_child(w, next_generation));
	world_step(w, p, 9);
	assert_int_equal(POLLUX_ESTATE, plx_save(p, PLX_SAVE_FLUSHED));
	pollux_destroy(p);
}

/* As a worker that reads data lives on. */
static void a_child_does_not_keep_the_lock(void **state)
{
	struct world *w = *state;
	struct plx_error err;
	struct plx_fence fence;
	struct pollux *p = world_run(w);
	int lock;
	int fd;
	pid_t pid;

	fence = p->store->fence;
	lock = plx_fence_enter(&fence, &err);
	assert_true(lock >= 0);
	pid = fork();
	if (pid == 0) {
		alarm(5);
		pause();
		_exit(0);
	}
	plx_fence_leave(lock);
	fd = open(world_path(w, "fence"), O_RDWR | O_CLOEXEC);
	assert_int_equal(0, flock(fd, LOCK_EX | LOCK_NB));
	close(fd);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	pollux_destroy(p);
}

/* ---- two at once ---- */

static int save_often(struct world *w)
{
	struct plx_error err;
	struct pollux *p = world_start(w, &err);

	for (uint64_t step = 1; p && step <= 60; step++) {
		world_step(w, p, step);
		if (plx_save(p, PLX_SAVE_QUICK) < 0)
			return 1;
	}
	pollux_destroy(p);
	return p ? 0 : 2;
}

static void two_trainings_in_one_folder_do_not_mix(void **state)
{
	struct world *w = *state;
	pid_t pid = fork();
	struct pollux *p;
	int status;

	if (pid == 0)
		_exit(save_often(w));
	assert_int_equal(0, save_often(w));
	assert_int_equal(pid, waitpid(pid, &status, 0));
	assert_int_equal(0, status);
	p = world_run(w);
	world_assert_step(w, p, 60);
	pollux_destroy(p);
}

/* ---- rescue ---- */

static void the_last_commit_is_rescued(void **state)
{
	struct world *w = *state;
	struct pollux *p = world_run(w);

	world_step(w, p, 1);
	assert_int_equal(0, plx_save(p, PLX_SAVE_FLUSHED));
	world_step(w, p, 2);
	assert_int_equal(0, plx_rescue(p));
	pollux_destroy(p);
	memset(w->weights, 0, sizeof(w->weights));
	p = world_run(w);
	world_assert_step(w, p, 2);
	assert_string_equal("rescue", p->restored_from);
	pollux_destroy(p);
}

static void what_is_there_is_not_rescued_again(void **state)
{
	struct world *w = *state;
	struct pollux *p = world_run(w);

	world_step(w, p, 2);
	assert_int_equal(0, plx_save(p, PLX_SAVE_FLUSHED));
	world_step(w, p, 1);
	assert_int_equal(0, plx_rescue(p));
	assert_int_equal(-1, access(world_path(w, "step-000000000001"), F_OK));
	pollux_destroy(p);
}

static void a_state_in_between_is_not_rescued(void **state)
{
	struct world *w = *state;
	struct pollux *p = world_run(w);
	uint64_t steps[9];

	world_step(w, p, 1);
	plx_state_changing(p);
	assert_int_equal(-1, plx_rescue(p));
	assert_int_equal(0, world_steps(w, steps, 9));
	plx_state_settled(p);
	assert_int_equal(0, plx_rescue(p));
	assert_int_equal(1, world_steps(w, steps, 9));
	pollux_destroy(p);
}

static int told_to_leave(struct world *w)
{
	struct pollux *p = world_run(w);

	world_step(w, p, 3);
	raise(SIGTERM);
	for (int i = 0; i < 100; i++)
		usleep(100000);
	pollux_destroy(p);
	return 1;
}

static void who_is_told_to_leave_saves_first(void **state)
{
	struct world *w = *state;
	int status = in_child(w, told_to_leave);
	struct pollux *p;

	assert_true(WIFSIGNALED(status));
	assert_int_equal(SIGTERM, WTERMSIG(status));
	p = world_run(w);
	world_assert_step(w, p, 3);
	pollux_destroy(p);
}

static volatile sig_atomic_t own_calls;

static void own_handler(int sig)
{
	(void) sig;
	own_calls++;
}

static void a_program_keeps_its_own_handler(void **state)
{
	struct world *w = *state;
	struct pollux *p;

	signal(SIGTERM, own_handler);
	p = world_run(w);
	world_step(w, p, 3);
	raise(SIGTERM);
	assert_int_equal(1, own_calls);
	pollux_destroy(p);
	assert_true(signal(SIGTERM, SIG_DFL) == own_handler);
	/* And ours is gone with the run. */
	p = world_run(w);
	pollux_destroy(p);
	assert_true(signal(SIGTERM, SIG_DFL) == SIG_DFL);
}

/* A process that was forked, as data loaders are, dies as it would. */
static int fork_and_end(struct world *w)
{
	struct pollux *p = world_run(w);
	pid_t pid = fork();
	int status;

	if (pid == 0) {
		sleep(10);
		_exit(0);
	}
	usleep(20000);
	kill(pid, SIGTERM);
	if (waitpid(pid, &status, 0) != pid || !WIFSIGNALED(status) ||
	    WTERMSIG(status) != SIGTERM)
		return 1;
	/* We were not meant. */
	usleep(20000);
	pollux_destroy(p);
	return 0;
}

static void a_child_of_it_can_be_ended_as_ever(void **state)
{
	assert_int_equal(0, in_child(*state, fork_and_end));
}

#define IN_WORLD(test)                                                         \
	cmocka_unit_test_setup_teardown(test, world_setup, world_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		IN_WORLD(an_old_generation_can_save_no_more),
		IN_WORLD(in_the_background_it_learns_that_too),
		IN_WORLD(one_that_is_called_back_saves_again),
		IN_WORLD(a_fence_that_lost_its_number_stops_nobody),
		IN_WORLD(a_child_does_not_keep_the_lock),
		IN_WORLD(two_trainings_in_one_folder_do_not_mix),
		IN_WORLD(the_last_commit_is_rescued),
		IN_WORLD(what_is_there_is_not_rescued_again),
		IN_WORLD(a_state_in_between_is_not_rescued),
		IN_WORLD(who_is_told_to_leave_saves_first),
		IN_WORLD(a_program_keeps_its_own_handler),
		IN_WORLD(a_child_of_it_can_be_ended_as_ever),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
