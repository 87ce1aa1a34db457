/* SPDX-License-Identifier: MIT */
/* credentials.c - who is at the other end of a UNIX socket */
#include <config.h>

#include <errno.h>
#include <stdint.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "wire/credentials.h"

int plx_credentials_check(int fd, struct plx_error *err)
{
	struct ucred peer = { 0 };
	socklen_t size = sizeof(peer);

	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) < 0)
		return plx_fail(err, "cannot see who is at the other end: %s",
				strerror(errno));
	if (peer.uid == geteuid() || peer.uid == 0)
		return 0;
	return plx_fail(err,
			"the other end belongs to another user (uid %ju), not "
			"to you (uid %ju)",
			(uintmax_t) peer.uid, (uintmax_t) geteuid());
}
