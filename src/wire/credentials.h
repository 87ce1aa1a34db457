/* SPDX-License-Identifier: MIT */
/*
 * credentials.h - who is at the other end of a UNIX socket
 *
 * Anybody may know a name, and be there first. So both ends ask the kernel
 * before they believe, or send, anything.
 */
#ifndef PLX_WIRE_CREDENTIALS_H
#define PLX_WIRE_CREDENTIALS_H

#include "core/base/error.h"

/*
 * Is it the same user, or root? Of a connection that we accepted: who
 * connected; of one that we made: who began to listen. 0, or -1 with err set
 * to a sentence.
 */
int plx_credentials_check(int fd, struct plx_error *err);

#endif
