/* SPDX-License-Identifier: MIT */
/*
 * stream.h - scattered memory to a file and back, fast and checked
 *
 * Large blocks, several under way at once, past the page cache where that can
 * be; the CRC-32C of each segment and of the whole comes with it, in the same
 * walk. Thread-safe for different streams.
 */
#ifndef PLX_AGENT_STREAM_H
#define PLX_AGENT_STREAM_H

#include <stdbool.h>
#include <stdint.h>

#include "agent/pollux.h"
#include "core/base/error.h"

#define PLX_PAGE                                                               \
	4096 /* what O_DIRECT wants addresses and sizes to divide by           \
	      */

struct plx_segment {
	void *data; /* borrowed */
	uint64_t bytes;
	enum pollux_memory memory;
	uint32_t crc; /* set by write and read */
};

struct plx_stream {
	struct plx_segment *segments; /* borrowed */
	int count;
	/*
	 * Or NULL. A copy of all segments in a row, on a page's border, with
	 * room and zeros up to the next one: it is written in their place.
	 */
	const unsigned char *image;
	uint32_t crc; /* set by write and read */
};

/* Of all segments. */
uint64_t plx_stream_bytes(const struct plx_stream *stream);

/* The copy above, into memory of plx_stream_bytes() and up to a page more. */
int plx_stream_copy(const struct plx_stream *stream, unsigned char *image,
		    struct plx_error *err);

/*
 * Write the file `name` of the open folder `dir` anew. flush: on disk when it
 * returns. An error's sentence begins with "cannot".
 */
int plx_stream_write(struct plx_stream *stream, int dir, const char *name,
		     bool flush, struct plx_error *err);

/*
 * Fill the segments; the file must have exactly as many bytes. alone: no other
 * process of this node reads it as well, so what the page cache does not have
 * need not go through it.
 */
int plx_stream_read(struct plx_stream *stream, int dir, const char *name,
		    bool alone, struct plx_error *err);

#endif
