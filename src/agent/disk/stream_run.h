/* SPDX-License-Identifier: MIT */
/*
 * stream_run.h - threads that walk over a stream's file, chunk by chunk
 *
 * Where chunk c meets segment s, the checksum of what they share is noted in
 * place c + s: along the file one of the two grows at each border, so no two
 * places are the same. plx_crc32c_join() then puts them together.
 */
#ifndef PLX_AGENT_STREAM_RUN_H
#define PLX_AGENT_STREAM_RUN_H

#include <pthread.h>

#include "agent/disk/stream.h"

#define PLX_CHUNK (UINT64_C(8) << 20)

/* One file under way, shared by its threads. */
struct plx_run {
	struct plx_stream *stream;
	uint64_t *starts; /* of each segment in the file, and the end */
	uint32_t *crcs;
	uint64_t bytes;
	uint64_t chunks;
	int fd;
	int direct_fd; /* reading: the same file past the page cache, or -1 */
	_Atomic bool direct;
	/* One chunk, with a buffer of that size. */
	int (*work)(struct plx_run *run, uint64_t chunk, unsigned char *buffer,
		    struct plx_error *err);

	pthread_mutex_t lock; /* of all below */
	uint64_t next;	      /* chunk */
	bool failed;
	struct plx_error err; /* of the first failure */
};

/* What a chunk and a segment share, as places in the file. */
struct plx_shared {
	uint64_t first;
	uint64_t bytes;
};

/* Set up and released by the caller; the files are closed with it. */
int plx_run_init(struct plx_run *run, struct plx_stream *stream,
		 struct plx_error *err);
void plx_run_release(struct plx_run *run);

/* Bytes of a chunk. */
uint64_t plx_run_chunk(const struct plx_run *run, uint64_t chunk);

/* The first segment that has something in this chunk or after it. */
int plx_run_first(const struct plx_run *run, uint64_t chunk);

/* False when the segment, and so all after it, begins behind the chunk. */
bool plx_run_share(const struct plx_run *run, uint64_t chunk, int segment,
		   struct plx_shared *out);

/* All chunks, by several threads. */
int plx_run_work(struct plx_run *run, struct plx_error *err);

/* From the parts' checksums to those of segments and the whole. */
void plx_run_join(struct plx_run *run);

#endif
