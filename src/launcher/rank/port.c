/* SPDX-License-Identifier: GPL-2.0-or-later */
/* port.c - a port for the ranks of one start to meet at */
#include "config.h"

#include <errno.h>
#include <netinet/in.h>
#include <stdint.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <unistd.h>

#include "launcher/rank/port.h"

#define LOWEST 20000
#define PORTS  12000 /* up to where Linux's own range begins */
#define DRAWS  64

/* 0, or the reason why it cannot be had. */
static int try_bind(int family, const struct sockaddr *address, socklen_t size)
{
	int fd = socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0);
	int no = 0;
	int one = 1;
	int why = 0;

	if (fd < 0)
		return errno;
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
	/* One socket that stands in the way of both kinds of addresses. */
	if (family == AF_INET6)
		setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &no, sizeof(no));
	if (bind(fd, address, size) < 0)
		why = errno;
	close(fd);
	return why;
}

bool plx_port_is_free(int port)
{
	const struct sockaddr_in6 all = {
		.sin6_family = AF_INET6,
		.sin6_port = htons((uint16_t) port),
		.sin6_addr = IN6ADDR_ANY_INIT,
	};
	const struct sockaddr_in old = {
		.sin_family = AF_INET,
		.sin_port = htons((uint16_t) port),
	};

	/* Other reasons, as no IPv6 at all, say nothing about the port. */
	return try_bind(AF_INET6, (const struct sockaddr *) &all,
			sizeof(all)) != EADDRINUSE &&
	       try_bind(AF_INET, (const struct sockaddr *) &old, sizeof(old)) !=
		       EADDRINUSE;
}

int plx_port_draw(void)
{
	uint32_t number = 0;
	int port = LOWEST;

	for (int i = 0; i < DRAWS; i++) {
		if (getrandom(&number, sizeof(number), 0) < 0)
			break;
		port = LOWEST + (int) (number % PORTS);
		if (plx_port_is_free(port))
			break;
	}
	return port;
}
