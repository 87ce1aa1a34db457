/* SPDX-License-Identifier: MIT */
/* image_piece.c - a piece of an array, to and from its place in an image */
#include <config.h>

#include <string.h>

#include "agent/gpu/bounce.h"
#include "agent/memory/image_piece.h"
#include "core/base/crc.h"

#define BLOCK_BYTES ((size_t) 64 << 10)

/*
 * In blocks that stay in the cache; the checksum is of the image's side, which
 * nobody else writes to.
 */
static uint32_t copy_summed(char *to, const char *from, const char *image,
			    size_t bytes)
{
	uint32_t sum = 0;

	for (size_t at = 0; at < bytes; at += BLOCK_BYTES) {
		size_t left = bytes - at;
		size_t block = left < BLOCK_BYTES ? left : BLOCK_BYTES;

		memcpy(to + at, from + at, block);
		sum = plx_crc32c(sum, image + at, block);
	}
	return sum;
}

/* The lane's way to the GPU that has this; NULL with err set. */
static struct plx_bounce *bounce_for(struct plx_lane *lane, const void *data,
				     struct plx_error *err)
{
	if (!lane->bounce)
		lane->bounce = plx_bounce_create(PLX_IMAGE_PIECE, data, err);
	return lane->bounce;
}

int plx_image_piece_write(const struct plx_image_piece *piece,
			  struct plx_lane *lane, uint32_t *sum,
			  struct plx_error *err)
{
	const char *from = piece->data;

	if (!from) {
		*sum = plx_crc32c(0, piece->kept, piece->bytes);
		return 0;
	}
	if (piece->memory == POLLUX_CUDA) {
		struct plx_bounce *bounce = bounce_for(lane, from, err);

		if (!bounce ||
		    plx_bounce_fetch(bounce, from, piece->bytes, err) < 0)
			return -1;
		from = plx_bounce_buffer(bounce);
	}
	*sum = copy_summed(piece->kept, from, piece->kept, piece->bytes);
	return 0;
}

/* What is copied, or where a blob's lies, has the checksum. */
static int copy_checked(char *to, const struct plx_image_piece *piece,
			const uint32_t *sum, struct plx_error *err)
{
	uint32_t is;

	if (!sum && to)
		memcpy(to, piece->kept, piece->bytes);
	if (!sum)
		return 0;
	is = to ? copy_summed(to, piece->kept, piece->kept, piece->bytes)
		: plx_crc32c(0, piece->kept, piece->bytes);
	if (is == *sum)
		return 0;
	return plx_fail(err,
			"state in memory was changed: a checksum is wrong");
}

int plx_image_piece_take(const struct plx_image_piece *piece,
			 struct plx_lane *lane, const uint32_t *sum,
			 struct plx_error *err)
{
	struct plx_bounce *bounce;

	if (!piece->data || piece->memory != POLLUX_CUDA)
		return copy_checked(piece->data, piece, sum, err);
	bounce = bounce_for(lane, piece->data, err);
	if (!bounce ||
	    copy_checked(plx_bounce_buffer(bounce), piece, sum, err) < 0)
		return -1;
	return plx_bounce_send(bounce, piece->data, piece->bytes, err);
}
