/* SPDX-License-Identifier: MIT */
/* fuzz_meet.c - descriptors from whoever listens under a memory's name */

#include <fcntl.h>

#include "agent/memory/nodemem_meet.c"
#include "fuzz.h"

/* So many descriptors with the bytes, in one message. */
static void send_some(int sock, const uint8_t *data, size_t size, size_t count)
{
	union {
		struct cmsghdr align;
		char bytes[CMSG_SPACE(4 * sizeof(int))];
	} control = { 0 };
	struct iovec part = { (void *) (uintptr_t) data, size };
	struct msghdr message = { .msg_iov = &part, .msg_iovlen = 1 };
	int fds[4] = { 0, 0, 0, 0 };
	struct cmsghdr *c;

	message.msg_control = control.bytes;
	message.msg_controllen = CMSG_SPACE(count * sizeof(int));
	c = CMSG_FIRSTHDR(&message);
	c->cmsg_level = SOL_SOCKET;
	c->cmsg_type = SCM_RIGHTS;
	c->cmsg_len = CMSG_LEN(count * sizeof(int));
	memcpy(CMSG_DATA(c), fds, count * sizeof(int));
	MUST(sendmsg(sock, &message, MSG_NOSIGNAL) == (ssize_t) size);
}

/* The key is the environment's, the job's text as well. */
static void name_it(const char *text, size_t size)
{
	char name[PLX_NODEMEM_NAME];
	struct plx_error err;

	setenv(PLX_ENV_KEY,
	       size & 1 ? text : "0123456789abcdef0123456789abcdef", 1);
	if (plx_nodemem_name(name, text, size, &err) < 0)
		fuzz_is_a_line(err.text, sizeof(err.text));
	else
		MUST(strlen(name) < sizeof(name));
}

/* Nothing that came is left open. */
int fuzz_meet(const uint8_t *data, size_t size)
{
	char text[TEXT_MAX];
	int ends[2];
	int next;
	int fd;

	name_it(fuzz_text(data, size, text), size);
	MUST(!socketpair(AF_UNIX, SOCK_STREAM, 0, ends));
	next = dup(0);
	close(next);
	if (size && data[0] % 5)
		send_some(ends[1], data, size, data[0] % 5);
	else if (size)
		MUST(write(ends[1], data, size) == (ssize_t) size);
	shutdown(ends[1], SHUT_WR);
	fd = receive_fd(ends[0]);
	MUST((fd >= 0) == (size && data[0] % 5 == 1));
	if (fd >= 0)
		close(fd);
	fd = dup(0);
	MUST(fd == next);
	close(fd);
	close(ends[0]);
	close(ends[1]);
	return 0;
}
