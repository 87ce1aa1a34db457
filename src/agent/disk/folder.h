/* SPDX-License-Identifier: MIT */
/*
 * folder.h - a job's checkpoints
 *
 * Each is a folder, step-000000001234, that was renamed when it was complete.
 * A broken one is set aside under the name *.broken, once there is a good one
 * to go on from, and counts no more. One that is being written is
 * step-*.TAG.tmp; the tag says by whom: "g3.17-1a2b3c4d", the generation, how
 * many it had begun before and a number drawn at its start. All is opened by
 * wire/dir.h.
 */
#ifndef PLX_AGENT_FOLDER_H
#define PLX_AGENT_FOLDER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/error.h"

#define PLX_FOLDER_NAME 128 /* bytes of a name in the folder */

/* One checkpoint. */
struct plx_folder_entry {
	uint64_t step;
	bool foreign; /* a link, or another user's: no checkpoint of ours */
};

/* Make the folder (one level) if it is missing; it must be the user's own. */
int plx_folder_make(const char *folder, struct plx_error *err);

/* What a checkpoint is called there. */
void plx_folder_name(const struct plx_folder_entry *entry,
		     char name[PLX_FOLDER_NAME]);

/* The same, while it is being written. */
void plx_folder_tmp(uint64_t step, const char *tag, char name[PLX_FOLDER_NAME]);

/* Open one by its name, made if `make`: as plx_dir_enter(). */
int plx_folder_enter(const char *folder, const char *name, bool make,
		     struct plx_error *err);

/*
 * Checkpoints there, newest first, the caller's to free; how many, or -1 with
 * err set.
 */
int plx_folder_list(const char *folder, struct plx_folder_entry **entries,
		    struct plx_error *err);

/* What was written in tmp, a name there, is a checkpoint from now on. */
int plx_folder_commit(const char *folder, const char *tmp, uint64_t step,
		      bool flush, struct plx_error *err);

/* Set one aside as broken. */
void plx_folder_refuse(const char *folder,
		       const struct plx_folder_entry *entry);

/*
 * Remove all but the `keep` newest, and the one of step `flushed`, which is
 * known to survive a loss of power.
 */
void plx_folder_prune(const char *folder, int keep, uint64_t flushed);

/*
 * Remove leftovers of saves cut short, but not those of a later generation,
 * or of this one, if they end with this number.
 */
void plx_folder_clean(const char *folder, uint64_t generation,
		      const char *number);

/* Is something of ours called so? */
bool plx_folder_has(const char *folder, const char *name);

/* Remove a folder of this name and the files in it. */
void plx_folder_remove(const char *folder, const char *name);

/* Names of files in it are on disk. */
int plx_folder_flush(const char *folder, struct plx_error *err);

/* The same for a checkpoint's own folder; `all`: for its files as well. */
int plx_folder_flush_one(const char *folder, const char *name, bool all,
			 struct plx_error *err);

#endif
