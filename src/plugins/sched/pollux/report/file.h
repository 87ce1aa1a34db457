/* SPDX-License-Identifier: GPL-2.0-or-later */
/* file.h - a file that nobody sees half of */
#ifndef SCHED_POLLUX_FILE_H
#define SCHED_POLLUX_FILE_H

#include <sys/types.h>

#include "core/base/error.h"

/*
 * Put the text where path says, by way of a draft beside it, which is named
 * too. No link that somebody put there is followed: what is at path is
 * replaced. The file has these permissions whatever the umask is. -1 with err
 * set.
 */
int pollux_file_replace(const char *path, const char *draft, const char *text,
			mode_t mode, struct plx_error *err);

#endif
