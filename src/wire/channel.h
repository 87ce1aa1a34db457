/* SPDX-License-Identifier: MIT */
/*
 * channel.h - lines of text over a UNIX stream socket
 *
 * Both ends are ours but run in a user's job: input is bounded (a line longer
 * than PLX_LINE_MAX is an error), nothing blocks for ever, SIGPIPE is never
 * raised. Not thread-safe: one thread a channel.
 */
#ifndef PLX_WIRE_CHANNEL_H
#define PLX_WIRE_CHANNEL_H

#include <stdbool.h>
#include <stddef.h>

#include "core/base/error.h"

#define PLX_LINE_MAX 2048 /* bytes with the final NUL */

struct plx_channel; /* one connection */

/*
 * A listening socket bound to path (replaced if stale), mode 0600, close on
 * exec, non-blocking. File descriptor, or -1 with err set.
 */
int plx_listen(const char *path, struct plx_error *err);

/*
 * Accept one peer, of the same user or root. NULL without err text when none
 * waits.
 */
struct plx_channel *plx_accept(int listener, struct plx_error *err);

/*
 * Connect to path, waiting at most timeout_s. NULL with err set, also when
 * another user listens there: then nothing was read or sent.
 */
struct plx_channel *plx_connect(const char *path, double timeout_s,
				struct plx_error *err);

void plx_channel_destroy(struct plx_channel *channel); /* accepts NULL */

int plx_channel_fd(const struct plx_channel *channel); /* for poll() */

/* Send line and a newline, waiting at most some seconds. 0 or -1. */
int plx_channel_send(struct plx_channel *channel, const char *line,
		     struct plx_error *err);

/*
 * Take one whole line if there is one: 1 (line copied, no newline), 0 none
 * yet, -1 closed or broken. Never blocks.
 */
int plx_channel_receive(struct plx_channel *channel, char line[PLX_LINE_MAX],
			struct plx_error *err);

#endif
