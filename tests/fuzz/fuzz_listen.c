/* SPDX-License-Identifier: MIT */
/* fuzz_listen.c - what the launcher says to rank 0, line by line */

#include <sys/socket.h>
#include <unistd.h>

#include "agent/comm/report.c"
#include "fuzz.h"

int fuzz_listen(const uint8_t *data, size_t size)
{
	struct plx_reporter r = { .source = 0 };
	int ends[2];

	MUST(!socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, ends));
	r.channel = plx_channel_wrap(ends[0], NULL);
	MUST(r.channel);
	while (size > 0 && r.channel) {
		size_t part = size < 4096 ? size : 4096;

		MUST(write(ends[1], data, part) == (ssize_t) part);
		data += part;
		size -= part;
		(void) plx_reporter_wishes(&r);
		(void) plx_reporter_wait(&r, PLX_WISH_GO, 0);
	}
	close(ends[1]);
	(void) plx_reporter_wishes(&r);
	MUST(!r.channel);
	MUST(plx_reporter_source(&r) >= 0);
	return 0;
}
