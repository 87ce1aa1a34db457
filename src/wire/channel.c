/* SPDX-License-Identifier: MIT */
/*
 * channel.c - lines of text over a UNIX stream socket
 *
 * Every descriptor is non-blocking; what must wait polls with a deadline. A
 * peer that went away is an answer (-1), never a signal.
 */
#include <config.h>

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "wire/channel.h"
#include "wire/credentials.h"
#include "wire/now.h"

#define SEND_TIMEOUT_S	2.0
#define RETRY_CONNECT_S 0.02
#define BACKLOG		8

struct plx_channel {
	int fd;
	size_t used;		   /* bytes in buffer */
	char buffer[PLX_LINE_MAX]; /* received, not yet taken */
};

/* Wait for events on fd until deadline_s; true when there are some. */
static bool wait_for(int fd, short events, double deadline_s)
{
	struct pollfd p = { .fd = fd, .events = events };

	for (;;) {
		double left = deadline_s - plx_now_s();
		int got = poll(&p, 1, left > 0 ? (int) (left * 1e3) + 1 : 0);

		if (got > 0)
			return true;
		if (got < 0 && errno != EINTR)
			return false;
		if (left <= 0)
			return false;
	}
}

static int address_of(const char *path, struct sockaddr_un *address,
		      struct plx_error *err)
{
	*address = (struct sockaddr_un){ .sun_family = AF_UNIX };
	if (strlen(path) >= sizeof(address->sun_path))
		return plx_fail(err, "socket path %s is longer than %zu bytes",
				path, sizeof(address->sun_path) - 1);
	strcpy(address->sun_path, path);
	return 0;
}

/* Only a socket is removed: never somebody's file. */
static int remove_stale(const char *path, struct plx_error *err)
{
	struct stat st;

	if (lstat(path, &st) < 0)
		return 0;
	if (!S_ISSOCK(st.st_mode))
		return plx_fail(err, "%s exists and is not a socket", path);
	if (unlink(path) < 0)
		return plx_fail(err, "cannot replace socket %s: %s", path,
				strerror(errno));
	return 0;
}

int plx_listen(const char *path, struct plx_error *err)
{
	struct sockaddr_un address;
	mode_t mask;
	int bound;
	int fd = -1;

	if (address_of(path, &address, err) < 0 || remove_stale(path, err) < 0)
		return -1;
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0)
		return plx_fail(err, "cannot make a socket: %s",
				strerror(errno));
	mask = umask(0177);
	bound = bind(fd, (struct sockaddr *) &address, sizeof(address));
	umask(mask);
	if (bound < 0 || listen(fd, BACKLOG) < 0) {
		plx_fail(err, "cannot listen on %s: %s", path, strerror(errno));
		close(fd);
		return -1;
	}
	return fd;
}

/* fd becomes the channel's, or is closed. */
static struct plx_channel *wrap(int fd, struct plx_error *err)
{
	struct plx_channel *channel = calloc(1, sizeof(*channel));

	if (!channel) {
		plx_fail(err, "out of memory");
		close(fd);
		return NULL;
	}
	channel->fd = fd;
	return channel;
}

struct plx_channel *plx_accept(int listener, struct plx_error *err)
{
	struct plx_error why;
	int fd;

	if (err)
		err->text[0] = '\0';
	fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
	if (fd < 0) {
		if (errno != EAGAIN && errno != EINTR && errno != ECONNABORTED)
			plx_fail(err, "cannot accept a connection: %s",
				 strerror(errno));
		return NULL;
	}
	if (plx_credentials_check(fd, &why) < 0) {
		plx_fail(err, "refused a connection: %.200s", why.text);
		close(fd);
		return NULL;
	}
	return wrap(fd, err);
}

/* One try: descriptor, or -1 with errno. */
static int connect_once(const struct sockaddr_un *address)
{
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	int saved;

	if (fd < 0)
		return -1;
	if (connect(fd, (const struct sockaddr *) address, sizeof(*address)) ==
	    0)
		return fd;
	saved = errno;
	close(fd);
	errno = saved;
	return -1;
}

struct plx_channel *plx_connect(const char *path, double timeout_s,
				struct plx_error *err)
{
	const struct timespec pause = { .tv_nsec = (long) (RETRY_CONNECT_S *
							   1e9) };
	double deadline_s = plx_now_s() + timeout_s;
	struct sockaddr_un address;
	struct plx_error why;
	int fd;

	if (address_of(path, &address, err) < 0)
		return NULL;
	/* A full backlog (EAGAIN) or a socket not there yet may pass. */
	while ((fd = connect_once(&address)) < 0 && plx_now_s() < deadline_s &&
	       (errno == EAGAIN || errno == EINTR || errno == ENOENT ||
		errno == ECONNREFUSED))
		nanosleep(&pause, NULL);
	if (fd < 0) {
		plx_fail(err, "cannot connect to %s: %s", path,
			 strerror(errno));
		return NULL;
	}
	/* Nothing of it is read before: it may be somebody else's. */
	if (plx_credentials_check(fd, &why) < 0) {
		plx_fail(err, "socket %.100s is not used: %.120s", path,
			 why.text);
		close(fd);
		return NULL;
	}
	return wrap(fd, err);
}

void plx_channel_destroy(struct plx_channel *channel)
{
	if (!channel)
		return;
	close(channel->fd);
	free(channel);
}

int plx_channel_fd(const struct plx_channel *channel)
{
	return channel->fd;
}

static int send_all(struct plx_channel *channel, const char *data, size_t size,
		    struct plx_error *err)
{
	double deadline_s = plx_now_s() + SEND_TIMEOUT_S;

	while (size > 0) {
		ssize_t sent = send(channel->fd, data, size, MSG_NOSIGNAL);

		if (sent >= 0) {
			data += sent;
			size -= (size_t) sent;
		} else if (errno == EAGAIN) {
			if (!wait_for(channel->fd, POLLOUT, deadline_s))
				return plx_fail(err,
						"the peer does not read: "
						"nothing sent for %g s",
						SEND_TIMEOUT_S);
		} else if (errno != EINTR) {
			return plx_fail(err, "cannot send: %s",
					strerror(errno));
		}
	}
	return 0;
}

int plx_channel_send(struct plx_channel *channel, const char *line,
		     struct plx_error *err)
{
	char data[PLX_LINE_MAX];
	size_t size = strlen(line);

	if (size >= sizeof(data))
		return plx_fail(err, "a line of %zu bytes is too long to send",
				size);
	if (memchr(line, '\n', size))
		return plx_fail(err, "a line to send has a newline in it");
	memcpy(data, line, size);
	data[size] = '\n';
	return send_all(channel, data, size + 1, err);
}

/* Move the first whole line out of the buffer; false when there is none. */
static bool take_line(struct plx_channel *channel, char line[PLX_LINE_MAX])
{
	char *end = memchr(channel->buffer, '\n', channel->used);
	size_t size;

	if (!end)
		return false;
	size = (size_t) (end - channel->buffer);
	memcpy(line, channel->buffer, size);
	line[size] = '\0';
	channel->used -= size + 1;
	memmove(channel->buffer, end + 1, channel->used);
	return true;
}

int plx_channel_receive(struct plx_channel *channel, char line[PLX_LINE_MAX],
			struct plx_error *err)
{
	for (;;) {
		ssize_t got;

		if (take_line(channel, line))
			return 1;
		if (channel->used == sizeof(channel->buffer))
			return plx_fail(err, "a line is longer than %d bytes",
					PLX_LINE_MAX - 1);
		got = recv(channel->fd, channel->buffer + channel->used,
			   sizeof(channel->buffer) - channel->used, 0);
		if (got > 0)
			channel->used += (size_t) got;
		else if (got == 0)
			return plx_fail(err, "the peer closed the connection");
		else if (errno == EAGAIN)
			return 0;
		else if (errno != EINTR)
			return plx_fail(err, "cannot receive: %s",
					strerror(errno));
	}
}
