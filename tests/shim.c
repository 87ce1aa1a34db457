/* SPDX-License-Identifier: MIT */
/*
 * shim.c - a process whose wall clock is wrong, loaded with LD_PRELOAD
 *
 * POLLUX_SHIM_CLOCK names a file of 16 characters or more: the seconds that
 * the process is ahead, as text. It may change at any time, which is a leap of
 * the clock. Waits until a wall clock time take as long as if there was no
 * leap; the monotonic clock is what it is. POLLUX_SHIM_HOST is what the process
 * takes its machine to be called.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#define CLOCK_SIZE 16
/* A wall clock has been beyond that since 2001. */
#define WALL_S 1000000000

static const char *ahead;

__attribute__((constructor)) static void _map(void)
{
	const char *path = getenv("POLLUX_SHIM_CLOCK");
	int fd = path ? open(path, O_RDONLY | O_CLOEXEC) : -1;
	void *at = MAP_FAILED;

	if (fd < 0)
		return;
	at = mmap(NULL, CLOCK_SIZE, PROT_READ, MAP_SHARED, fd, 0);
	close(fd);
	if (at != MAP_FAILED)
		ahead = at;
}

static long _ahead_s(void)
{
	char text[CLOCK_SIZE + 1] = "";

	if (!ahead)
		return 0;
	memcpy(text, ahead, CLOCK_SIZE);
	return strtol(text, NULL, 10);
}

int clock_gettime(clockid_t clock, struct timespec *now)
{
	int rc = (int) syscall(SYS_clock_gettime, clock, now);

	if (rc == 0 &&
	    (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE))
		now->tv_sec += _ahead_s();
	return rc;
}

time_t time(time_t *out)
{
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	if (out)
		*out = now.tv_sec;
	return now.tv_sec;
}

int gettimeofday(struct timeval *restrict out, void *restrict zone)
{
	struct timespec now;

	(void) zone;
	clock_gettime(CLOCK_REALTIME, &now);
	out->tv_sec = now.tv_sec;
	out->tv_usec = now.tv_nsec / 1000;
	return 0;
}

int pthread_cond_timedwait(pthread_cond_t *restrict cond,
			   pthread_mutex_t *restrict mutex,
			   const struct timespec *restrict until)
{
	struct timespec real = *until;

	if (until->tv_sec < WALL_S)
		return pthread_cond_clockwait(cond, mutex, CLOCK_MONOTONIC,
					      until);
	real.tv_sec -= _ahead_s();
	return pthread_cond_clockwait(cond, mutex, CLOCK_REALTIME, &real);
}

int gethostname(char *name, size_t size)
{
	const char *host = getenv("POLLUX_SHIM_HOST");
	char file[65] = "";
	ssize_t length = 0;
	int fd = -1;

	if (!host) {
		fd = open("/proc/sys/kernel/hostname", O_RDONLY | O_CLOEXEC);
		length = fd < 0 ? 0 : read(fd, file, sizeof(file) - 1);
		if (fd >= 0)
			close(fd);
		file[length > 0 ? length : 0] = '\0';
		file[strcspn(file, "\n")] = '\0';
		host = file;
	}
	if (!size)
		return -1;
	strncpy(name, host, size - 1);
	name[size - 1] = '\0';
	return 0;
}

/* As Debian's hardened programs call it. */
int __gethostname_chk(char *name, size_t size, size_t room);
int __gethostname_chk(char *name, size_t size, size_t room)
{
	return gethostname(name, size < room ? size : room);
}
