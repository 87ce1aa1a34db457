/* SPDX-License-Identifier: MIT */
/* wrap.c - a channel on a socket that is there already, for fuzzers alone */

#include "wire/channel.c"

struct plx_channel *plx_channel_wrap(int fd, struct plx_error *err)
{
	return wrap(fd, err);
}
