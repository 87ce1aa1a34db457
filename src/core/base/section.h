/* SPDX-License-Identifier: MIT */
/*
 * section.h - our part of a comment that belongs to somebody else
 *
 * A comment is the user's text, then optionally " [pollux ...]" at its end.
 */
#ifndef PLX_CORE_SECTION_H
#define PLX_CORE_SECTION_H

#include <stdbool.h>
#include <stddef.h>

#include "core/base/error.h"

#define PLX_COMMENT_MAX 1024 /* Slurm's limit, bytes with the final NUL */

/* The section's fields, without brackets and name; false when there is none. */
bool plx_section_get(const char *comment, char *fields, size_t size);

/*
 * comment (may be NULL) with its section replaced by fields (NULL: removed),
 * every byte of the user's text kept. -1 when the whole does not fit out.
 */
int plx_section_put(const char *comment, const char *fields, char *out,
		    size_t size, struct plx_error *err);

#endif
