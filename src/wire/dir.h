/* SPDX-License-Identifier: MIT */
/*
 * dir.h - the folders of a run, where nobody else can plant anything
 *
 * Checkpoints, notes, logs and the locks of local runs lie where others may
 * know the place, and sometimes write. This module alone opens, makes, renames
 * and removes there (tests/check_layers.t): relative to a descriptor of the
 * folder, never through a symbolic link, and only what is the caller's own.
 * What it makes is for the user alone: folders 0700, files 0600.
 *
 * A failure that names a path is a whole sentence; a failure inside a folder
 * is the reason alone ("it is a symbolic link"), the caller says of what.
 */
#ifndef PLX_WIRE_DIR_H
#define PLX_WIRE_DIR_H

#include <dirent.h>
#include <stdbool.h>

#include "core/base/error.h"

/*
 * Open the folder at `path`, a descriptor for close(). It must belong to the
 * caller; everybody may write there only if it is sticky. The path is the
 * user's own word: it may lead through links, and be one if that is the user's
 * or root's. -1 with err set to a sentence.
 */
int plx_dir_open(const char *path, struct plx_error *err);

/* The same; the folder (one level) is made if it is missing. */
int plx_dir_make(const char *path, struct plx_error *err);

/* As plx_dir_open(), for one inside a folder of ours: it is no link. */
int plx_dir_inner(const char *path, bool make, struct plx_error *err);

/* As plx_dir_make(); no link, and nobody else may write there, no group. */
int plx_dir_private(const char *path, struct plx_error *err);

/* As plx_dir_make(), but it may be anybody's. */
int plx_dir_shared(const char *path, struct plx_error *err);

/* Open a folder in `dir`; it is made first if `make`. -1 with a reason. */
int plx_dir_enter(int dir, const char *name, bool make, struct plx_error *err);

/*
 * Open a regular file in `dir`; flags as for open(2), O_CLOEXEC is implied.
 * One that is to be written may have no other name (hard link). -1 with a
 * reason and errno set (ELOOP: a link, EPERM: not the caller's own), and the
 * file as it was, O_TRUNC or not.
 */
int plx_dir_file(int dir, const char *name, int flags, struct plx_error *err);

/* The same, in the folder at `path`. */
int plx_dir_file_at(const char *path, const char *name, int flags,
		    struct plx_error *err);
/* The same, in the folder that plx_dir_inner() opens. */
int plx_dir_inner_file(const char *path, bool make, const char *name, int flags,
		       struct plx_error *err);

/*
 * Open a file that the user named himself, wherever that is and whatever: a
 * terminal, a pipe, a link. Made as 0600 if missing. -1 with errno set.
 */
int plx_dir_named_file(const char *path, int flags);

/* Does `dir` have something of this name that is the caller's and no link? */
bool plx_dir_owns(int dir, const char *name);

/* Does it have a folder of that name where the caller alone may write? */
bool plx_dir_own_private(int dir, const char *name);

/* Rename in `dir`; a link is renamed itself. 0, or -1 with errno set. */
int plx_dir_rename(int dir, const char *from, const char *to);

/* Swap two names in `dir`. 0, or -1 with errno set. */
int plx_dir_swap(int dir, const char *one, const char *other);

/*
 * Remove from `dir` a file, a link (never what it leads to), or a folder and
 * the files in it. What cannot be removed stays, in silence.
 */
void plx_dir_remove(int dir, const char *name);

/* Walk through `dir`, which stays the caller's; closedir() ends it. Or NULL. */
DIR *plx_dir_list(int dir);

#endif
