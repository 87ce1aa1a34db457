/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * script.h - the files of the program's command line: were they changed?
 *
 * Whoever edits train.py while it trains has the next ranks run what it is by
 * then. That is told, once for each change.
 */
#ifndef PLX_LAUNCHER_SCRIPT_H
#define PLX_LAUNCHER_SCRIPT_H

#include <sys/types.h>
#include <time.h>

#define PLX_SCRIPT_FILES 4 /* are looked at */

struct plx_script {
	struct plx_script_file {
		const char *path; /* borrowed */
		struct timespec changed;
		off_t size;
	} files[PLX_SCRIPT_FILES];
	int count;
};

/* Note what the regular files among these words are; NULL-terminated. */
void plx_script_note(struct plx_script *script, char *const *program);

/* One that has changed since it was noted, or asked for; NULL: none. */
const char *plx_script_changed(struct plx_script *script);

#endif
