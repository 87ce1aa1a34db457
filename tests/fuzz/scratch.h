/* SPDX-License-Identifier: MIT */
/*
 * scratch.h - an input cut into files, for parsers that read files
 *
 * The parts of an input end with a byte 0x1e. A file is either written into a
 * private folder, or given by scratch_open() in place of fopen().
 */
#ifndef PLX_FUZZ_SCRATCH_H
#define PLX_FUZZ_SCRATCH_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#define SCRATCH_END 0x1e

struct scratch_input {
	const uint8_t *data;
	size_t size;
};

/* The next part, taken off the input; empty at its end. */
struct scratch_input scratch_part(struct scratch_input *input);

/* A folder of this process alone; the same at each call. */
const char *scratch_folder(void);

/* Make a folder in it, which may be there. */
void scratch_make(const char *name);

/* Write the file `name` in it; an empty part removes it. */
void scratch_put(const char *name, struct scratch_input part);

/* From now on scratch_open() gives the parts of this input, in turn. */
void scratch_files(const uint8_t *data, size_t size);
FILE *scratch_open(const char *path, const char *mode);

#endif
