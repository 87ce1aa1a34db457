/* SPDX-License-Identifier: MIT */
/*
 * job_groups.h - a job's control groups, version 1, as Slurm makes them
 *
 * Needs root. The device opens without any effect; _GNU_SOURCE is wanted.
 */
#ifndef PLX_JOB_GROUPS_H
#define PLX_JOB_GROUPS_H

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/userfaultfd.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "spank/pollux/holders.h"
#include "unit.h"

#define JOBS	1000000
#define DEVICES "/sys/fs/cgroup/devices"
#define FREEZER "/sys/fs/cgroup/freezer"

static const char *const hierarchies[] = { DEVICES, FREEZER };

/* Shared with all that are forked. */
struct common {
	atomic_long beats; /* links of the chain so far, or threads */
	atomic_bool stop;
	long pace_us; /* a link of it does nothing for so long */
	struct plx_look last;
	atomic_int said; /* what a look found; INT_MIN: nothing yet */
};

static struct common *common;

static inline void sleep_us(long us)
{
	const struct timespec time = { us / 1000000, us % 1000000 * 1000 };

	nanosleep(&time, NULL);
}

static inline void sleep_ms(long ms)
{
	sleep_us(ms * 1000);
}

/* Who touches it waits in the kernel; NULL: it cannot be had. */
static inline char *page_that_never_comes(void)
{
	char *page = mmap(NULL, 4096, PROT_READ | PROT_WRITE,
			  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct uffdio_api api = { .api = UFFD_API };
	struct uffdio_register range = {
		.range = { (uintptr_t) page, 4096 },
		.mode = UFFDIO_REGISTER_MODE_MISSING,
	};
	int faults = (int) syscall(SYS_userfaultfd, O_CLOEXEC);

	if (page == MAP_FAILED || faults < 0 ||
	    ioctl(faults, UFFDIO_API, &api) < 0 ||
	    ioctl(faults, UFFDIO_REGISTER, &range) < 0)
		return NULL;
	return page;
}

static inline int job(void)
{
	return JOBS + getpid();
}

static inline int write_word(const char *folder, const char *name,
			     const char *word)
{
	char path[2 * PATH_MAX];
	int file = -1;
	bool done = false;

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	file = open(path, O_WRONLY | O_CLOEXEC);
	if (file < 0)
		return -1;
	done = write(file, word, strlen(word)) == (ssize_t) strlen(word);
	close(file);
	return done ? 0 : -1;
}

static inline bool says(const char *folder, const char *name, const char *word)
{
	char path[2 * PATH_MAX];
	char text[256];
	ssize_t got = -1;
	int file = -1;

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	file = open(path, O_RDONLY | O_CLOEXEC);
	if (file >= 0)
		got = read(file, text, sizeof(text) - 1);
	close(file);
	text[got > 0 ? got : 0] = '\0';
	return strstr(text, word) != NULL;
}

/* The folder of the job, or of something in it, in a hierarchy. */
static inline void name_folder(char path[PATH_MAX], const char *hierarchy,
			       int number, const char *below)
{
	snprintf(path, PATH_MAX, "%s/pollux_unit_%d/job_%d%s", hierarchy,
		 number, number, below);
}

static inline void make_folders(const char *hierarchy, const char *below)
{
	char path[PATH_MAX];

	name_folder(path, hierarchy, job(), below);
	for (char *at = path + strlen(hierarchy) + 1; at; at++) {
		at = strchr(at, '/');
		if (at)
			*at = '\0';
		assert_true(mkdir(path, 0755) == 0 || errno == EEXIST);
		if (!at)
			break;
		*at = '/';
	}
}

/* From the deepest one upwards, as soon as what was in there has gone. */
static inline void remove_folders(const char *hierarchy, const char *below)
{
	char path[PATH_MAX];

	name_folder(path, hierarchy, job(), below);
	while (strlen(path) > strlen(hierarchy)) {
		for (int i = 0; rmdir(path) < 0 && errno == EBUSY && i < 500;
		     i++)
			sleep_ms(10);
		*strrchr(path, '/') = '\0';
	}
}

static inline int enter(const char *hierarchy, int number, const char *below)
{
	char path[PATH_MAX];

	name_folder(path, hierarchy, number, below);
	return write_word(path, "cgroup.procs", "0");
}

/* A child that a failed test leaves behind ends with it. */
static inline pid_t fork_child(void)
{
	pid_t child = fork();

	if (child == 0 && prctl(PR_SET_PDEATHSIG, SIGKILL) < 0)
		_exit(1);
	return child;
}

static inline void say_device(const char *file)
{
	char path[PATH_MAX];

	name_folder(path, DEVICES, job(), "");
	assert_int_equal(write_word(path, file, "c 4:60 rwm"), 0);
}

static inline void be_looker(int number)
{
	struct plx_error err = { .text = "" };

	if (enter(DEVICES, number, "/step_9") < 0 ||
	    prctl(PR_SET_NAME, "slurmstepd") < 0)
		_exit(1);
	atomic_store(&common->said, plx_end_holders((uint32_t) number, NULL,
						    &common->last, &err));
	_exit(0);
}

/* What a look says within this time; INT_MIN: nothing. */
static inline int ask(long ms)
{
	int number = job();
	pid_t looker = -1;

	atomic_store(&common->said, INT_MIN);
	looker = fork_child();
	if (looker == 0)
		be_looker(number);
	while (atomic_load(&common->said) == INT_MIN && ms > 0) {
		sleep_ms(10);
		ms -= 10;
	}
	kill(looker, SIGKILL);
	waitpid(looker, NULL, 0);
	return atomic_load(&common->said);
}

static inline void up(char device[PATH_MAX])
{
	if (geteuid() != 0 || access(DEVICES "/devices.deny", W_OK) < 0 ||
	    access(FREEZER "/cgroup.procs", W_OK) < 0)
		skip();
	common = mmap(NULL, sizeof(*common), PROT_READ | PROT_WRITE,
		      MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	assert_true(common != MAP_FAILED);
	for (size_t i = 0; i < ARRAY_SIZE(hierarchies); i++) {
		make_folders(hierarchies[i], "/step_0");
		make_folders(hierarchies[i], "/step_9");
	}
	if (!device)
		return;
	snprintf(device, PATH_MAX, "/tmp/pollux_unit_%d", getpid());
	unlink(device);
	assert_int_equal(mknod(device, S_IFCHR | 0666, makedev(4, 60)), 0);
}

static inline void down(const char *device)
{
	char path[PATH_MAX];

	atomic_store(&common->stop, true);
	for (size_t i = 0; i < ARRAY_SIZE(hierarchies); i++) {
		name_folder(path, hierarchies[i], job(), "/step_9");
		for (int tries = 0; rmdir(path) < 0 && tries < 500; tries++)
			sleep_ms(10);
		remove_folders(hierarchies[i], "/step_0");
	}
	if (device)
		unlink(device);
	munmap(common, sizeof(*common));
}

#endif
