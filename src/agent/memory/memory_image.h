/* SPDX-License-Identifier: MIT */
/*
 * memory_image.h - how state lies in a node's memory
 *
 * A head, a table of parts, a checksum for each piece of a part, then the raw
 * parts. Several ranks write and check it, each its slice of the pieces. The
 * word in the head is written last, so what was cut short is never believed;
 * it is a futex, on which other processes may wait.
 *
 * Whoever reads trusts nothing: another version, another program's or job's
 * state, changed bytes are all refused with a sentence.
 */
#ifndef PLX_AGENT_MEMORY_IMAGE_H
#define PLX_AGENT_MEMORY_IMAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "agent/memory/image_lanes.h"
#include "agent/pollux.h"
#include "core/base/error.h"

#define PLX_MEMORY_IMAGE_JOB 64 /* bytes of a job's key, with its NUL */

/* One registered array, or what a program makes of other state. */
struct plx_image_part {
	void *data;   /* borrowed; NULL for a blob */
	size_t bytes; /* of a blob: as of now, when written */
	enum pollux_memory memory;
	uint32_t kind;	  /* checksum of its name, type and shape */
	const char *name; /* borrowed */
	const struct pollux_blob *blob; /* borrowed, or NULL */
};

struct plx_parts {
	const struct plx_image_part *list; /* borrowed */
	int count;
	int arrays;  /* the first so many: what pollux_crc() looks at */
	int threads; /* that copy them, at most; 0: as in image_lanes.h */
};

/* What is written above all parts. */
struct plx_memory_image_facts {
	char job[PLX_MEMORY_IMAGE_JOB];
	uint64_t generation;
	uint64_t step;
};

enum plx_memory_image_word {
	PLX_MEMORY_IMAGE_EMPTY,
	PLX_MEMORY_IMAGE_LAID, /* being written */
	PLX_MEMORY_IMAGE_GOOD, /* all there */
};

/* Bytes it takes. */
size_t plx_memory_image_size(const struct plx_parts *parts);

/* Memory of a GPU among them; NULL: there is none. */
const void *plx_parts_gpu(const struct plx_parts *parts);

/* Head and table; the memory has room for them. Ends in LAID. */
void plx_memory_image_lay(void *base, const struct plx_parts *parts,
			  const struct plx_memory_image_facts *facts);

/* Nothing there any more. */
void plx_memory_image_clear(void *base);

/* Wait for a word, at most timeout_s: true when it is there. */
bool plx_memory_image_wait(const void *base, enum plx_memory_image_word word,
			   double timeout_s);

/*
 * My slice into memory that was laid out; slice 0 also does the blobs. 0, or
 * -1 with err set.
 */
int plx_memory_image_write(void *base, const struct plx_parts *parts,
			   struct plx_slice slice, struct plx_error *err);

/* All slices are written: the word becomes GOOD. */
void plx_memory_image_commit(void *base);

/*
 * The head of `bytes` of memory says GOOD and is sound, and its parts are
 * these, of this job and generation (0: any). The state is left alone.
 */
int plx_memory_image_check(const void *base, size_t bytes,
			   const struct plx_parts *parts,
			   const struct plx_memory_image_facts *want,
			   struct plx_error *err);

/*
 * Checked, so: copy all parts back but the blobs, and see that the pieces of
 * my slice, those of blobs too, have their checksums. By any thread. 0, or -1
 * with err set: parts may have changed.
 */
int plx_memory_image_take(const void *base, const struct plx_parts *parts,
			  struct plx_slice slice, struct plx_error *err);

/* Then the blobs, which only the program's thread may load. */
int plx_memory_image_load(const void *base, const struct plx_parts *parts,
			  struct plx_error *err);

/* Put bytes where they belong: as many as it has, unless it is a blob. */
int plx_part_load(const struct plx_image_part *part, const void *from,
		  size_t bytes, struct plx_error *err);

/* What the head says. */
uint64_t plx_memory_image_step(const void *base);
uint32_t plx_memory_image_crc(const void *base); /* of the arrays */
size_t plx_memory_image_bytes(const void *base); /* of them */
/* A part's raw bytes and how many. */
const void *plx_memory_image_part(const void *base, int part, size_t *bytes);

#endif
