/* SPDX-License-Identifier: GPL-2.0-or-later */
/* file.c - a file that nobody sees half of */

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "sched/pollux/report/file.h"

/* 0, or -1 with errno set. */
static int _write(const char *path, const char *text, mode_t mode)
{
	size_t left = strlen(text);
	int saved = 0;
	/* Not through a link that somebody else has put there. */
	int file = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);

	if (file < 0)
		return -1;
	while (left > 0 && saved == 0) {
		ssize_t done = write(file, text, left);

		if (done > 0) {
			text += done;
			left -= (size_t) done;
		} else if (done == 0 || errno != EINTR) {
			saved = done ? errno : ENOSPC;
		}
	}
	if (saved == 0 && fchmod(file, mode) < 0)
		saved = errno;
	if (close(file) < 0 && saved == 0)
		saved = errno;
	errno = saved;
	return saved ? -1 : 0;
}

int pollux_file_replace(const char *path, const char *draft, const char *text,
			mode_t mode, struct plx_error *err)
{
	if (unlink(draft) < 0 && errno != ENOENT)
		return plx_fail(err, "%s: %s", draft, strerror(errno));
	if (_write(draft, text, mode) < 0 || rename(draft, path) < 0) {
		plx_fail(err, "%s: %s", path, strerror(errno));
		unlink(draft);
		return -1;
	}
	return 0;
}
