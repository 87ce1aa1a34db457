/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * script.h - the files of the program's command line: were they changed?
 *
 * Whoever edits train.py while it trains has the next ranks run what it is by
 * then. That is told, once for each change. What has never trained may be
 * broken, and so may what stands beside it: of a file NAME.py the other *.py of
 * its folder are looked at, too (handover_acts.h, trials).
 */
#ifndef PLX_LAUNCHER_SCRIPT_H
#define PLX_LAUNCHER_SCRIPT_H

#include <stdbool.h>
#include <sys/types.h>
#include <time.h>

#define PLX_SCRIPT_FILES 64 /* are looked at */

/* What tells one text of a file from another. */
struct plx_script_stamp {
	struct timespec changed;
	off_t size; /* -1: it is not there */
};

struct plx_script {
	struct plx_script_file {
		char *path;
		bool named; /* on the command line */
		struct plx_script_stamp told;
		struct plx_script_stamp good;	 /* has trained */
		struct plx_script_stamp started; /* the last ranks began with */
	} files[PLX_SCRIPT_FILES];
	int count;
};

/* Note what the regular files among these words are; NULL-terminated. */
void plx_script_note(struct plx_script *script, char *const *program);
void plx_script_release(struct plx_script *script);

/* One that has changed since it was noted, or asked for; NULL: none. */
const char *plx_script_changed(struct plx_script *script);

/* Ranks are started with what the files are now; it does, they run. */
void plx_script_start(struct plx_script *script);
void plx_script_runs(struct plx_script *script);

/* Is a file not what ranks have run so far? */
bool plx_script_is_new(const struct plx_script *script);

#endif
