/* SPDX-License-Identifier: GPL-2.0-or-later */
/* sacct.h - the text of sacct, or of a file in its place */
#ifndef PLX_REPORT_SACCT_H
#define PLX_REPORT_SACCT_H

#include <stdbool.h>
#include <stddef.h>

#include "core/base/error.h"

/* What to ask for; NULL leaves it to sacct. Borrowed. */
struct plx_sacct {
	const char *jobs;      /* -j */
	const char *since;     /* -S */
	const char *until;     /* -E */
	const char *user;      /* -u; "ALL": every user's */
	const char *account;   /* -A */
	const char *partition; /* -r */
	bool all;	       /* -a */
};

/*
 * Run sacct and keep what it prints, bounded in size and time. *text is the
 * caller's to free. On failure err has the last line sacct complained with.
 */
int plx_sacct_run(const struct plx_sacct *ask, char **text, size_t *size,
		  struct plx_error *err);

/* The same from a file, or from stdin when path is "-". */
int plx_sacct_load(const char *path, char **text, size_t *size,
		   struct plx_error *err);

#endif
