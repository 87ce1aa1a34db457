/* SPDX-License-Identifier: MIT */
/*
 * shard.h - one file of a checkpoint, in the safetensors layout
 *
 * 8 bytes length of the header (little-endian), the header (JSON: name ->
 * dtype, shape, data_offsets; "__metadata__": text -> text), raw tensors.
 */
#ifndef PLX_AGENT_SHARD_H
#define PLX_AGENT_SHARD_H

#include "agent/disk/shard_split.h"
#include "agent/disk/stream.h"

#define PLX_SHARD_NAME 48  /* bytes of a file's name, with its NUL */
#define PLX_PIECE_NAME 128 /* of a piece's */

struct plx_shard {
	unsigned char *header;
	struct plx_segment *segments; /* the header, then each piece */
	struct plx_stream stream;     /* of these */
};

/* "model-00001-of-00004.safetensors"; shard from 0. */
void plx_shard_name(char name[PLX_SHARD_NAME], int shard, int shards);

/* Its tensor's name; rows of one: "NAME[FIRST:END]", as Python slices. */
void plx_piece_name(char name[PLX_PIECE_NAME], const struct plx_piece *piece,
		    const struct plx_tensor *tensor);

/*
 * Lay the pieces out in a row behind a header. tensors' data is borrowed.
 * Release it, also after a failure.
 */
int plx_shard_lay(struct plx_shard *out, const struct plx_tensor *tensors,
		  struct plx_piece *pieces, int count, struct plx_error *err);
void plx_shard_release(struct plx_shard *shard);

#endif
