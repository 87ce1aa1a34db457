/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * peer.h - the launcher's end of the socket to rank 0
 *
 * Each start has a socket of its own, so that a rank left over from an earlier
 * one can say nothing. It lies in a private folder with a short path (UNIX
 * sockets allow 107 characters), which is gone as soon as rank 0 has spoken: a
 * killed launcher leaves nothing behind.
 */
#ifndef PLX_LAUNCHER_PEER_H
#define PLX_LAUNCHER_PEER_H

#include <stdbool.h>

#include "core/base/error.h"
#include "wire/channel.h"

struct plx_peer {
	char dir[64];		     /* private folder, "": none */
	char path[96];		     /* of the present socket */
	int listener;		     /* -1: none */
	struct plx_channel *channel; /* NULL: nobody is connected */
	bool met;		     /* rank 0 has spoken since open */
	bool stop;		     /* rank 0 is to be told to stop */
	bool told;		     /* this connection was */
	char queue[256];	     /* lines for it, each with a newline */
};

void plx_peer_init(struct plx_peer *peer);

/*
 * Make a new folder, in $TMPDIR if that is short enough, else in /tmp, and
 * listen in it. The folder may hold one more file, of this name:
 */
#define PLX_PEER_HOSTS "hosts"
int plx_peer_open(struct plx_peer *peer, struct plx_error *err);

/* Hang up and remove what is left of the folder. */
void plx_peer_close(struct plx_peer *peer);

/* Tell rank 0 to stop, now or as soon as it connects. */
void plx_peer_stop(struct plx_peer *peer);

/* Tell it that line, once, in the order of the calls; a short one. */
void plx_peer_send(struct plx_peer *peer, const char *line);

/*
 * The next line of rank 0, if there is one. Accepts its connection. A broken
 * connection is closed; err tells why (empty when rank 0 just left).
 */
bool plx_peer_receive(struct plx_peer *peer, char line[PLX_LINE_MAX],
		      struct plx_error *err);

#endif
