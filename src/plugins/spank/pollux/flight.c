/* SPDX-License-Identifier: GPL-2.0-or-later */
/* flight.c - files in messages that nobody has received yet */

#define _GNU_SOURCE /* statx, fopen("re") */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <unistd.h>

#include "spank/pollux/flight.h"

#define FILES	  253	     /* in one message at most: SCM_MAX_FD */
#define OTHERS	  4096	     /* bytes: who sent it, and his labels */
#define BYTES	  (1 << 16)  /* more than Linux has in one piece of a stream */
#define END_MS	  1000	     /* a child that does not end is left behind */
#define ANY_TASK  O_EXCL     /* PIDFD_THREAD, since Linux 6.9 */
#define ALL_FILES (~0u)	     /* close_range(2) */
#define WAITING	  "scm_fds:" /* in fdinfo */

/* --- what Linux says --- */

/* How many files wait in it; 0: none, or no UNIX socket; -1: cannot ask. */
static int count_waiting(const char *tid, const char *number, bool *is_unix)
{
	char name[64];
	char *line = NULL;
	size_t size = 0;
	FILE *file = NULL;
	int count = 0;

	*is_unix = false;
	snprintf(name, sizeof(name), "/proc/%.20s/fdinfo/%.20s", tid, number);
	file = fopen(name, "re");
	if (!file)
		return errno == ENOMEM || errno == EMFILE || errno == ENFILE
			       ? -1
			       : 0;
	while (!*is_unix && getline(&line, &size, file) > 0) {
		*is_unix = !strncmp(line, WAITING, strlen(WAITING));
		if (*is_unix)
			count = atoi(line + strlen(WAITING));
	}
	free(line);
	fclose(file);
	return count;
}

bool plx_flight_counts(const char *release)
{
	int major = 0;
	int minor = 0;

	return sscanf(release, "%d.%d", &major, &minor) == 2 &&
	       (major > 6 || (major == 6 && minor >= 3));
}

static bool are_the_same(const struct statx *one, const struct statx *other)
{
	return one->stx_ino == other->stx_ino &&
	       one->stx_dev_major == other->stx_dev_major &&
	       one->stx_dev_minor == other->stx_dev_minor;
}

/* The thread's own socket; -1: not to be had. */
static int take(const char *tid, const char *number)
{
	char name[64];
	struct statx there;
	struct statx here;
	int file = -1;
	/* One that is not the first of its process is had since Linux 6.9. */
	int thread = (int) syscall(SYS_pidfd_open, atoi(tid), ANY_TASK);

	if (thread < 0)
		thread = (int) syscall(SYS_pidfd_open, atoi(tid), 0);
	if (thread < 0)
		return -1;
	file = (int) syscall(SYS_pidfd_getfd, thread, atoi(number), 0);
	close(thread);
	snprintf(name, sizeof(name), "/proc/%.20s/fd/%.20s", tid, number);
	/* Who is not frozen may have another file there by now. */
	if (file >= 0 &&
	    statx(AT_FDCWD, name, AT_STATX_DONT_SYNC, STATX_INO, &there) == 0 &&
	    statx(file, "", AT_EMPTY_PATH | AT_STATX_DONT_SYNC, STATX_INO,
		  &here) == 0 &&
	    are_the_same(&there, &here))
		return file;
	if (file >= 0)
		close(file);
	return -1;
}

static bool listens(int socket)
{
	int is = 0;
	socklen_t size = sizeof(is);

	return getsockopt(socket, SOL_SOCKET, SO_ACCEPTCONN, &is, &size) == 0 &&
	       is;
}

/* Has somebody connected to it who is not accepted yet? */
static bool is_called(const char *tid, const char *number)
{
	int socket = take(tid, number);
	struct pollfd wait = { .fd = socket, .events = POLLIN };
	bool is = socket >= 0 && listens(socket) && poll(&wait, 1, 0) > 0;

	if (socket >= 0)
		close(socket);
	return is;
}

int plx_flight_waits(const char *tid, const char *number)
{
	struct utsname system;
	bool is_unix = false;
	int count = count_waiting(tid, number, &is_unix);

	if (count != 0)
		return count < 0 ? -1 : 1;
	return is_unix && uname(&system) == 0 &&
	       !plx_flight_counts(system.release) && is_called(tid, number);
}

/* --- the child --- */

/*
 * The next message, or as much of a stream as Linux gives at once: with how
 * many files it came, which are open from now on. -1: there is none, or it
 * cannot be told.
 */
static int peek(int socket)
{
	static char bytes[BYTES];
	union {
		char bytes[CMSG_SPACE(FILES * sizeof(int)) + OTHERS];
		struct cmsghdr align;
	} control;
	struct iovec part = { .iov_base = bytes, .iov_len = sizeof(bytes) };
	struct msghdr message = {
		.msg_iov = &part,
		.msg_iovlen = 1,
		.msg_control = control.bytes,
		.msg_controllen = sizeof(control.bytes),
	};
	ssize_t got = recvmsg(socket, &message,
			      MSG_PEEK | MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
	int files = 0;

	if (got <= 0 || message.msg_flags & MSG_CTRUNC)
		return -1;
	/* Its files come once more with the rest of it. */
	if ((size_t) got == sizeof(bytes))
		return 0;
	for (struct cmsghdr *c = CMSG_FIRSTHDR(&message); c;
	     c = CMSG_NXTHDR(&message, c)) {
		if (c->cmsg_level == SOL_SOCKET && c->cmsg_type == SCM_RIGHTS)
			files += (int) ((c->cmsg_len - CMSG_LEN(0)) /
					sizeof(int));
	}
	return files;
}

/*
 * Where to peek is kept by the socket, which is the job's. So it is left alone
 * where the first message has all.
 */
static bool peek_all(int socket, int wanted)
{
	const int first = 0;
	int before = -1;
	socklen_t size = sizeof(before);
	int seen = 0;

	if (getsockopt(socket, SOL_SOCKET, SO_PEEK_OFF, &before, &size) < 0)
		return false;
	if (before < 0 && peek(socket) == wanted)
		return true;
	if (setsockopt(socket, SOL_SOCKET, SO_PEEK_OFF, &first, sizeof(first)) <
	    0)
		return false;
	for (int now = 0; now >= 0 && seen<wanted; seen += now> 0 ? now : 0)
		now = peek(socket);
	(void) setsockopt(socket, SOL_SOCKET, SO_PEEK_OFF, &before,
			  sizeof(before));
	return seen == wanted;
}

/* What the parent has open is not looked at, nor kept open. */
static bool close_but(int one, int other)
{
	unsigned int low = (unsigned int) (one < other ? one : other);
	unsigned int high = (unsigned int) (one < other ? other : one);

	return (low == 0 || syscall(SYS_close_range, 0, low - 1, 0) == 0) &&
	       (high == low + 1 ||
		syscall(SYS_close_range, low + 1, high - 1, 0) == 0) &&
	       syscall(SYS_close_range, high + 1, ALL_FILES, 0) == 0;
}

static void be_child(const char *tid, const char *number, int answer, int tie)
{
	char own[16];
	char byte = 0;
	bool is_unix = false;
	bool whole = false;
	int socket = -1;
	int wanted = 0;

	if (!close_but(answer, tie))
		_exit(EXIT_FAILURE);
	socket = take(tid, number);
	if (socket >= 0) {
		snprintf(own, sizeof(own), "%d", socket);
		wanted = count_waiting("self", own, &is_unix);
		whole = wanted >= 0 && !listens(socket) &&
			peek_all(socket, wanted);
		close(socket);
	}
	if (write(answer, whole ? "1" : "0", 1) == 1)
		(void) !read(tie, &byte, 1);
	_exit(EXIT_SUCCESS);
}

/* --- the parent --- */

/* One byte, within that time. */
static char await(int answer, int wait_ms)
{
	struct pollfd wait = { .fd = answer, .events = POLLIN };
	char byte = 0;

	return poll(&wait, 1, wait_ms) == 1 && read(answer, &byte, 1) == 1
		       ? byte
		       : '\0';
}

void plx_flight_begin(struct plx_flight *flight, const char *tid,
		      const char *number, int wait_ms)
{
	int answer[2];
	int tie[2];
	char said = '\0';

	*flight = (struct plx_flight){ .child = -1, .tie = -1 };
	if (pipe2(answer, O_CLOEXEC) < 0)
		return;
	if (pipe2(tie, O_CLOEXEC) == 0) {
		flight->child = fork();
		if (flight->child == 0)
			be_child(tid, number, answer[1], tie[0]);
		close(tie[0]);
		flight->tie = tie[1];
	}
	close(answer[1]);
	if (flight->child > 0)
		said = await(answer[0], wait_ms);
	close(answer[0]);
	flight->whole = said == '1';
	if (said)
		snprintf(flight->pid, sizeof(flight->pid), "%d",
			 (int) flight->child);
}

void plx_flight_end(struct plx_flight *flight)
{
	struct pollfd end = { .events = POLLIN };

	if (flight->tie >= 0)
		close(flight->tie);
	if (flight->child <= 0)
		return;
	end.fd = (int) syscall(SYS_pidfd_open, flight->child, 0);
	(void) poll(&end, 1, flight->pid[0] ? END_MS : 0);
	(void) waitpid(flight->child, NULL, WNOHANG);
	if (end.fd >= 0)
		close(end.fd);
}
