/* SPDX-License-Identifier: MIT */
/*
 * folder.h - a job's checkpoints, one file a saved step
 *
 * step-000000001234.safetensors. A broken one is set aside under the name
 * *.broken, once there is a good one to go on from, and counts no more.
 */
#ifndef PLX_AGENT_FOLDER_H
#define PLX_AGENT_FOLDER_H

#include <stddef.h>
#include <stdint.h>

#include "core/error.h"

#define PLX_FOLDER_MAX 256 /* files looked at */

/* Make the folder (one level) if it is missing. */
int plx_folder_make(const char *folder, struct plx_error *err);

/* Path of a step's file; -1 when it does not fit. */
int plx_folder_path(const char *folder, uint64_t step, char *path, size_t size,
		    struct plx_error *err);

/* Steps saved there, newest first; how many, or -1 with err set. */
int plx_folder_list(const char *folder, uint64_t steps[PLX_FOLDER_MAX],
		    struct plx_error *err);

/* Set a step's file aside as broken. */
void plx_folder_refuse(const char *folder, uint64_t step);

/*
 * Remove all but the two newest, and the one of step `flushed`, which is
 * known to survive a loss of power. Leftovers of saves cut short go too.
 */
void plx_folder_prune(const char *folder, uint64_t flushed);

#endif
