/* SPDX-License-Identifier: MIT */
/*
 * checkpoint.h - a tensor to be saved; checkpoints as they were before 0.2
 *
 * Those were one file in the safetensors layout, "pollux-1", which is still
 * read (restore_old.c) but written no more; see manifest.h for what is.
 *
 * 8 bytes length of the header (little-endian), the header (JSON: name ->
 * dtype, shape, data_offsets; "__metadata__": text -> text), raw tensors. The
 * last tensor, "pollux.seal", is the CRC-32C of all bytes before it, so that
 * one flipped or missing bit anywhere is found. Any safetensors reader can
 * open the file.
 */
#ifndef PLX_AGENT_CHECKPOINT_H
#define PLX_AGENT_CHECKPOINT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "agent/pollux.h"
#include "core/base/error.h"

#define PLX_DIMS_MAX  8
#define PLX_NAME_SIZE 64

struct plx_tensor {
	char name[PLX_NAME_SIZE];
	const char *dtype; /* "F32", "U8", ...; static */
	int dims;
	uint64_t shape[PLX_DIMS_MAX];
	void *data; /* borrowed */
	size_t bytes;
	enum pollux_memory memory; /* where data is */
};

/* A checkpoint in memory, whole and checked. */
struct plx_checkpoint;

/*
 * The file `name` of that folder. NULL with err set: missing, cut, changed,
 * not the user's own. Never trusts what it reads.
 */
struct plx_checkpoint *plx_checkpoint_read(const char *folder, const char *name,
					   struct plx_error *err);
void plx_checkpoint_destroy(struct plx_checkpoint *checkpoint); /* or NULL */

/* A metadata value, the checkpoint's; NULL when absent. */
const char *plx_checkpoint_note(const struct plx_checkpoint *checkpoint,
				const char *key);

/* -1 with err set unless it holds this tensor: name, dtype and shape. */
int plx_checkpoint_has(const struct plx_checkpoint *checkpoint,
		       const struct plx_tensor *want, struct plx_error *err);

/* Copy into tensor->data what plx_checkpoint_has() found. */
int plx_checkpoint_fill(const struct plx_checkpoint *checkpoint,
			const struct plx_tensor *tensor, struct plx_error *err);

#endif
