/* SPDX-License-Identifier: GPL-2.0-or-later */
/* peer.c - the launcher's end of the socket to rank 0 */

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "launcher/peer.h"
#include "wire/message.h"

static const char template[] = "pollux-XXXXXX";

static bool make_dir(struct plx_peer *peer, const char *parent)
{
	int length = snprintf(peer->dir, sizeof(peer->dir), "%s/%s", parent,
			      template);

	return length > 0 && (size_t) length < sizeof(peer->dir) &&
	       mkdtemp(peer->dir);
}

int plx_peer_init(struct plx_peer *peer, struct plx_error *err)
{
	const char *parent = getenv("TMPDIR");

	*peer = (struct plx_peer){ .listener = -1 };
	if (parent && parent[0] == '/' && make_dir(peer, parent))
		return 0;
	if (make_dir(peer, "/tmp"))
		return 0;
	peer->dir[0] = '\0';
	return plx_fail(err, "cannot make a folder in /tmp: %s",
			strerror(errno));
}

int plx_peer_open(struct plx_peer *peer, int number, struct plx_error *err)
{
	plx_peer_close(peer);
	peer->met = false;
	peer->stop = false;
	peer->told = false;
	snprintf(peer->path, sizeof(peer->path), "%s/%d", peer->dir, number);
	peer->listener = plx_listen(peer->path, err);
	return peer->listener < 0 ? -1 : 0;
}

void plx_peer_close(struct plx_peer *peer)
{
	plx_channel_destroy(peer->channel);
	peer->channel = NULL;
	if (peer->listener < 0)
		return;
	close(peer->listener);
	unlink(peer->path);
	peer->listener = -1;
}

/* A send that fails shows again when we receive. */
static void pass_on_stop(struct plx_peer *peer)
{
	if (!peer->channel || !peer->stop || peer->told)
		return;
	peer->told = plx_channel_send(peer->channel, PLX_MSG_STOP, NULL) == 0;
}

void plx_peer_stop(struct plx_peer *peer)
{
	peer->stop = true;
	pass_on_stop(peer);
}

static void meet(struct plx_peer *peer, struct plx_error *err)
{
	if (peer->channel || peer->listener < 0)
		return;
	peer->channel = plx_accept(peer->listener, err);
	if (!peer->channel)
		return;
	peer->met = true;
	peer->told = false;
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
	if (got >= 0)
		return got > 0;
	plx_channel_destroy(peer->channel);
	peer->channel = NULL;
	return false;
}

void plx_peer_release(struct plx_peer *peer)
{
	char hosts[96];

	plx_peer_close(peer);
	if (!peer->dir[0])
		return;
	snprintf(hosts, sizeof(hosts), "%s/hosts", peer->dir);
	unlink(hosts);
	rmdir(peer->dir);
}
