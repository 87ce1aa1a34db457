/* SPDX-License-Identifier: GPL-2.0-or-later */
/* port.c - a port for the ranks of one start to meet at */
#include "config.h"

#include <netinet/in.h>
#include <stdbool.h>
#include <sys/socket.h>
#include <unistd.h>

#include "launcher/address.h"

#define LOWEST	 20000
#define PORTS	 12000 /* up to where Linux's own range begins */
#define TURNS	 64
#define SPREAD	 7919 /* prime: jobs in a row lie far apart */
#define PER_STEP 31   /* so do generations in a row */

static bool is_free(int port)
{
	struct sockaddr_in address = { .sin_family = AF_INET };
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	int one = 1;
	bool is;

	if (fd < 0)
		return true;
	address.sin_port = htons((uint16_t) port);
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
	is = bind(fd, (struct sockaddr *) &address, sizeof(address)) == 0;
	close(fd);
	return is;
}

int plx_port_of(uint32_t job_id, uint64_t generation)
{
	uint64_t at = (uint64_t) job_id * SPREAD + generation * PER_STEP;
	int port = LOWEST;

	for (int i = 0; i < TURNS; i++) {
		port = LOWEST + (int) ((at + (uint64_t) i) % PORTS);
		if (is_free(port))
			break;
	}
	return port;
}
