/* SPDX-License-Identifier: MIT */
/* test_rings.c - what io_uring refuses a task */

#include <errno.h>
#include <stdint.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "spank/pollux/rings.h"
#include "unit.h"

/* Of io_uring_register(2). */
enum { FILES = 2, EVENTFD = 4, PROBE = 8, FILES2 = 13 };
#define BY_NUMBER 0x80000000u
#define NONE	  1000000 /* not open */

/* struct io_uring_rsrc_register of a table of files, with one that is empty. */
struct table {
	uint32_t count, flags;
	uint64_t rest, files, tags;
};

static int make_ring(void)
{
	uint32_t params[30] = { 0 };

	return (int) syscall(SYS_io_uring_setup, 4, params);
}

/* 0, or an error's number. */
static int ask(int ring, unsigned int what, void *argument, unsigned int count)
{
	return syscall(SYS_io_uring_register, ring, what, argument, count) < 0
		       ? errno
		       : 0;
}

static int register_file(int ring)
{
	int file = 0;

	return ask(ring, FILES, &file, 1);
}

static int register_table(int ring)
{
	int file = 0;
	struct table table = { .count = 1, .files = (uintptr_t) &file };

	return ask(ring, FILES2, &table, sizeof(table));
}

static int probe(int ring)
{
	uint64_t answer[64] = { 0 };

	return ask(ring, PROBE, answer, 1);
}

/* As a program that a task starts, too. */
static int be_task(void)
{
	struct plx_error err;
	int ring = make_ring();
	int file = 0;

	if (register_file(ring) != 0 || probe(ring) != 0)
		return 1;
	close(ring);
	ring = make_ring();
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 ||
	    plx_rings_without_files(&err) < 0)
		return 2;
	if (fork() > 0) {
		int status = -1;

		wait(&status);
		return WEXITSTATUS(status);
	}
	if (register_file(ring) != EPERM || register_table(ring) != EPERM ||
	    ask(ring, FILES | BY_NUMBER, &file, 1) != EPERM ||
	    ask(ring, FILES2 | BY_NUMBER, &file, 1) != EPERM)
		return 3;
	/* All else is as before. */
	if (probe(ring) != 0 || ask(NONE, EVENTFD, &file, 1) != EBADF)
		return 4;
	return getppid() > 0 && make_ring() >= 0 ? 0 : 5;
}

static void a_task_registers_no_files(void **state)
{
	int ring = make_ring();
	int status = -1;
	pid_t child = -1;

	(void) state;
	if (ring < 0)
		skip();
	close(ring);
	child = fork();
	if (child == 0)
		_exit(be_task());
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_task_registers_no_files),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
