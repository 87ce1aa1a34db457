/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * folder_lock.h - one launcher at a time for a folder of checkpoints
 *
 * The file "launcher" in that folder is locked for as long as a launcher
 * lives, and holds the number of the newest generation it has started. One
 * that finds it unlocked takes the job over: it ends the steps that the one
 * before it has left, and goes on with the numbers.
 */
#ifndef PLX_LAUNCHER_FOLDER_LOCK_H
#define PLX_LAUNCHER_FOLDER_LOCK_H

#include <stdbool.h>
#include <stdint.h>

#include "core/base/error.h"

struct plx_launcher;

struct plx_folder_lock {
	int fd;		 /* -1: nothing is held */
	uint64_t newest; /* generation that was started, 0: none yet */
	bool again;	 /* the one before us was of the same owner */
};

/*
 * Hold the folder; another launcher has wait_s to leave. owner (copied) says
 * who we are, to whoever else wants it. Without locks on that file system the
 * folder is taken as it is.
 */
int plx_folder_lock_take(struct plx_folder_lock *lock, const char *folder,
			 const char *owner, double wait_s,
			 struct plx_error *err);

/* Does a launcher that lives hold this folder? */
bool plx_folder_lock_is_held(const char *folder);

/* A generation of that number is about to be started. */
void plx_folder_lock_note(struct plx_folder_lock *lock, uint64_t generation);

/* Once; accepts one that holds nothing. */
void plx_folder_lock_release(struct plx_folder_lock *lock);

/* ---- of the launcher ---- */

/*
 * Hold its folder. What an earlier launcher of the same job has left running
 * has some seconds to save, is then killed and waited for.
 */
int plx_folder_lock_begin(struct plx_launcher *l, struct plx_error *err);

/* The job's record has been seen: go on with what it says of the past. */
void plx_folder_lock_seen(struct plx_launcher *l);

#endif
