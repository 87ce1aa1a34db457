/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * flight.h - files in messages that nobody has received yet
 *
 * A file that is sent over a UNIX socket (SCM_RIGHTS) is in no table of files
 * until it is received. Linux says of a socket how many wait in it. A child
 * peeks at them: it has the same files open then, to be looked at as any other
 * process, and the messages stay where they are. It is a child because it may
 * never end: what it has to close can wait for a file server, and a socket can
 * be held by somebody who waits himself.
 *
 * Needs root. Not for threads; it forks.
 */
#ifndef SPANK_POLLUX_FLIGHT_H
#define SPANK_POLLUX_FLIGHT_H

#include <stdbool.h>
#include <sys/types.h>

struct plx_flight {
	char pid[16]; /* of the child, in decimal digits; "": there is none */
	bool whole;   /* it has all that waits there */
	pid_t child;
	int tie; /* it ends when this is closed */
};

/*
 * Do files wait in what a thread has open by this number (both in decimal
 * digits)? 1, 0, or -1 where there was no memory or file to ask with. Linux
 * before 6.3 does not count what waits in connections that nobody has accepted:
 * there any such connection is a 1.
 */
int plx_flight_waits(const char *tid, const char *number);

/*
 * Have them, and wait for that so long. Messages that cannot be peeked at:
 * those of a connection that nobody has accepted, out of band, of no bytes.
 */
void plx_flight_begin(struct plx_flight *flight, const char *tid,
		      const char *number, int wait_ms);

void plx_flight_end(struct plx_flight *flight);

/* Does Linux of this release, such as "6.1.0-40-amd64", count those? */
bool plx_flight_counts(const char *release);

#endif
