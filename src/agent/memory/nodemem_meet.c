/* SPDX-License-Identifier: MIT */
/*
 * nodemem_meet.c - how processes of one user find each other's memory
 *
 * Over abstract UNIX sockets: they have names, but no files that would stay.
 */
#include <config.h>

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include "agent/memory/nodemem.h"
#include "agent/memory/nodemem_meet.h"
#include "wire/credentials.h"
#include "wire/env.h"
#include "wire/secret.h"

#define ENV_APART  "POLLUX_NODES_APART"
#define BACKLOG	   64
#define PATIENCE_S 5 /* with a peer that does not speak */

/* ---- names ---- */

const char *plx_nodemem_here(void)
{
	static _Thread_local char host[64];
	const char *node = getenv("SLURMD_NODENAME");

	if (node && *node && getenv(ENV_APART))
		return node;
	if (gethostname(host, sizeof(host) - 1) < 0)
		return "node";
	return host;
}

int plx_nodemem_name(char name[PLX_NODEMEM_NAME], const char *job,
		     uint64_t generation, struct plx_error *err)
{
	char secret[PLX_SECRET_SIZE];
	char full[512];

	snprintf(full, sizeof(full), "%.200s.%" PRIu64 ".%.200s", job,
		 generation, plx_nodemem_here());
	if (plx_secret_name(getenv(PLX_ENV_KEY), full, secret, err) < 0)
		return -1;
	snprintf(name, PLX_NODEMEM_NAME, "pollux.%s", secret);
	return 0;
}

/* An abstract address: begins with a NUL, ends with its length. */
static socklen_t make_address(struct sockaddr_un *address, const char *name)
{
	size_t length = strlen(name);

	*address = (struct sockaddr_un){ .sun_family = AF_UNIX };
	memcpy(address->sun_path + 1, name, length);
	return (socklen_t) (offsetof(struct sockaddr_un, sun_path) + 1 +
			    length);
}

/* ---- descriptors over sockets ---- */

union control {
	struct cmsghdr align;
	char bytes[CMSG_SPACE(sizeof(int))]; /* padding may hold a second one */
};

static int send_fd(int sock, int fd)
{
	union control control = { 0 };
	struct iovec part = { .iov_base = (char[]){ 'm' }, .iov_len = 1 };
	struct msghdr message = {
		.msg_iov = &part,
		.msg_iovlen = 1,
		.msg_control = control.bytes,
		.msg_controllen = sizeof(control.bytes),
	};
	struct cmsghdr *c = CMSG_FIRSTHDR(&message);

	c->cmsg_level = SOL_SOCKET;
	c->cmsg_type = SCM_RIGHTS;
	c->cmsg_len = CMSG_LEN(sizeof(int));
	memcpy(CMSG_DATA(c), &fd, sizeof(fd));
	return sendmsg(sock, &message, MSG_NOSIGNAL) == 1 ? 0 : -1;
}

/* The descriptor of a message; -1 unless there is just one: others close. */
static int take_fd(struct msghdr *message)
{
	struct cmsghdr *c = CMSG_FIRSTHDR(message);
	size_t count;
	int fd = -1;

	if (!c || c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS)
		return -1;
	count = (c->cmsg_len - CMSG_LEN(0)) / sizeof(fd);
	for (size_t i = 0; i < count; i++) {
		memcpy(&fd, CMSG_DATA(c) + i * sizeof(fd), sizeof(fd));
		if (count > 1)
			close(fd);
	}
	return count == 1 ? fd : -1;
}

/* -1 when none came. */
static int receive_fd(int sock)
{
	union control control = { 0 };
	char byte;
	struct iovec part = { .iov_base = &byte, .iov_len = 1 };
	struct msghdr message = {
		.msg_iov = &part,
		.msg_iovlen = 1,
		.msg_control = control.bytes,
		.msg_controllen = sizeof(control.bytes),
	};

	if (recvmsg(sock, &message, MSG_CMSG_CLOEXEC) != 1)
		return -1;
	return take_fd(&message);
}

static int make_socket(void)
{
	const struct timeval patience = { .tv_sec = PATIENCE_S };
	int sock = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (sock < 0)
		return -1;
	setsockopt(sock, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
	setsockopt(sock, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof(patience));
	return sock;
}

/* ---- who has, and who wants ---- */

int plx_meet_listen(const char *name, struct plx_error *err)
{
	struct sockaddr_un address;
	socklen_t length = make_address(&address, name);
	int sock = make_socket();

	if (sock < 0)
		return plx_fail(err, "no socket: %s", strerror(errno));
	if (bind(sock, (struct sockaddr *) &address, length) < 0 ||
	    listen(sock, BACKLOG) < 0) {
		plx_fail(err, "cannot listen as %s: %s", name, strerror(errno));
		close(sock);
		return -1;
	}
	return sock;
}

void plx_meet_answer(int listener, int fd)
{
	int peer = accept4(listener, NULL, NULL, SOCK_CLOEXEC);

	if (peer < 0)
		return;
	if (plx_credentials_check(peer, NULL) == 0)
		(void) send_fd(peer, fd);
	close(peer);
}

int plx_meet_ask(const char *name)
{
	struct sockaddr_un address;
	socklen_t length = make_address(&address, name);
	int sock = make_socket();
	int fd = -1;

	if (sock < 0)
		return -1;
	if (connect(sock, (struct sockaddr *) &address, length) == 0 &&
	    plx_credentials_check(sock, NULL) == 0)
		fd = receive_fd(sock);
	close(sock);
	return fd;
}
