/* SPDX-License-Identifier: GPL-2.0-or-later */
/* peer.c - the launcher's end of the socket to rank 0 */

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "launcher/ranks/peer.h"
#include "wire/message.h"

#define PAGE 4096 /* for the host file */

static const char template[] = "pollux-XXXXXX";

static bool make_dir(struct plx_peer *peer, const char *parent)
{
	int length = snprintf(peer->dir, sizeof(peer->dir), "%s/%s", parent,
			      template);

	return length > 0 && (size_t) length < sizeof(peer->dir) &&
	       mkdtemp(peer->dir);
}

/* A full disk shows only when something is written. */
static bool is_writable(const struct plx_peer *peer)
{
	static const char page[PAGE];
	char path[sizeof(peer->dir) + sizeof(PLX_PEER_HOSTS)];
	bool wrote;
	int fd;

	snprintf(path, sizeof(path), "%s/%s", peer->dir, PLX_PEER_HOSTS);
	fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	if (fd < 0)
		return false;
	wrote = write(fd, page, sizeof(page)) == sizeof(page);
	if (close(fd) == 0 && wrote)
		return true;
	unlink(path);
	return false;
}

static bool try_dir(struct plx_peer *peer, const char *parent)
{
	int saved;

	if (!parent || parent[0] != '/' || !make_dir(peer, parent))
		return false;
	if (is_writable(peer))
		return true;
	saved = errno;
	rmdir(peer->dir);
	errno = saved;
	return false;
}

static int make_any_dir(struct plx_peer *peer, struct plx_error *err)
{
	const char *const parents[] = { getenv("TMPDIR"), "/tmp", "/dev/shm" };

	for (size_t i = 0; i < sizeof(parents) / sizeof(parents[0]); i++) {
		if (try_dir(peer, parents[i]))
			return 0;
	}
	peer->dir[0] = '\0';
	return plx_fail(err,
			"cannot make a folder in $TMPDIR, /tmp or /dev/shm: %s",
			strerror(errno));
}

static void remove_dir(struct plx_peer *peer)
{
	char hosts[sizeof(peer->dir) + sizeof(PLX_PEER_HOSTS)];

	if (peer->listener >= 0)
		close(peer->listener);
	peer->listener = -1;
	if (!peer->dir[0])
		return;
	snprintf(hosts, sizeof(hosts), "%s/%s", peer->dir, PLX_PEER_HOSTS);
	unlink(hosts);
	unlink(peer->path);
	rmdir(peer->dir);
	peer->dir[0] = '\0';
}

void plx_peer_init(struct plx_peer *peer)
{
	*peer = (struct plx_peer){ .listener = -1 };
}

int plx_peer_open(struct plx_peer *peer, struct plx_error *err)
{
	plx_peer_close(peer);
	plx_peer_init(peer);
	if (make_any_dir(peer, err) < 0)
		return -1;
	snprintf(peer->path, sizeof(peer->path), "%s/socket", peer->dir);
	peer->listener = plx_listen(peer->path, err);
	if (peer->listener < 0) {
		remove_dir(peer);
		return -1;
	}
	return 0;
}

void plx_peer_close(struct plx_peer *peer)
{
	plx_channel_destroy(peer->channel);
	peer->channel = NULL;
	remove_dir(peer);
}

/* A send that fails shows again when we receive. */
static void pass_on_stop(struct plx_peer *peer)
{
	if (!peer->channel || !peer->stop || peer->told)
		return;
	peer->told = plx_channel_send(peer->channel, PLX_MSG_STOP, NULL) == 0;
}

/* Lines are short and few: they leave as soon as there is a connection. */
static void pass_on_queue(struct plx_peer *peer)
{
	char *line = peer->queue;
	char *end;

	if (!peer->channel)
		return;
	while ((end = strchr(line, '\n'))) {
		*end = '\0';
		if (plx_channel_send(peer->channel, line, NULL) < 0)
			break;
		line = end + 1;
	}
	peer->queue[0] = '\0';
}

void plx_peer_stop(struct plx_peer *peer)
{
	peer->stop = true;
	pass_on_stop(peer);
}

void plx_peer_send(struct plx_peer *peer, const char *line)
{
	size_t used = strlen(peer->queue);
	size_t size = strlen(line);

	if (used + size + 2 > sizeof(peer->queue))
		return;
	memcpy(peer->queue + used, line, size);
	strcpy(peer->queue + used + size, "\n");
	pass_on_queue(peer);
}

static void meet(struct plx_peer *peer, struct plx_error *err)
{
	if (peer->channel || peer->listener < 0)
		return;
	peer->channel = plx_accept(peer->listener, err);
	if (!peer->channel)
		return;
	peer->told = false;
	pass_on_queue(peer);
	pass_on_stop(peer);
}

bool plx_peer_receive(struct plx_peer *peer, char line[PLX_LINE_MAX],
		      struct plx_error *err)
{
	int got;

	err->text[0] = '\0';
	meet(peer, err);
	if (!peer->channel)
		return false;
	got = plx_channel_receive(peer->channel, line, err);
	if (got > 0 && !peer->met) {
		peer->met = true;
		/* srun has read its host file long ago. */
		remove_dir(peer);
	}
	if (got >= 0)
		return got > 0;
	plx_channel_destroy(peer->channel);
	peer->channel = NULL;
	return false;
}
