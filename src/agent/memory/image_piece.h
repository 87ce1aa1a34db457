/* SPDX-License-Identifier: MIT */
/* image_piece.h - a piece of an array, to and from its place in an image */
#ifndef PLX_AGENT_IMAGE_PIECE_H
#define PLX_AGENT_IMAGE_PIECE_H

#include <stddef.h>
#include <stdint.h>

#include "agent/memory/image_lanes.h"
#include "agent/pollux.h"

#define PLX_IMAGE_PIECE ((size_t) 1 << 20) /* at most */

struct plx_image_piece {
	char *kept; /* in the image */
	char *data; /* in an array, memory of that kind; NULL: of a blob */
	size_t bytes;
	enum pollux_memory memory;
};

/* Into the image, unless it is a blob's; and its checksum. -1 with err set. */
int plx_image_piece_write(const struct plx_image_piece *piece,
			  struct plx_lane *lane, uint32_t *sum,
			  struct plx_error *err);

/*
 * Out of it, unless it is a blob's; has it this checksum? NULL: somebody else
 * looks at that. -1 with err set.
 */
int plx_image_piece_take(const struct plx_image_piece *piece,
			 struct plx_lane *lane, const uint32_t *sum,
			 struct plx_error *err);

#endif
