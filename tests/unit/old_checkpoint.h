/* SPDX-License-Identifier: MIT */
/* old_checkpoint.h - write a checkpoint as "pollux-1" was: one file */
#ifndef OLD_CHECKPOINT_H
#define OLD_CHECKPOINT_H

#include "agent/disk/checkpoint.h"

#define PLX_NOTE_SIZE 64

/* A line of metadata. */
struct plx_note {
	char key[PLX_NAME_SIZE];
	char value[PLX_NOTE_SIZE];
};

struct plx_saved {
	const struct plx_tensor *tensors;
	int tensor_count;
	const struct plx_note *notes;
	int note_count;
};

/*
 * Write saved to path: complete or not at all (a temporary file beside it,
 * renamed). flush: only return when it would survive a loss of power.
 */
int plx_checkpoint_write(const char *path, const struct plx_saved *saved,
			 bool flush, struct plx_error *err);

#endif
