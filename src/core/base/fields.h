/* SPDX-License-Identifier: MIT */
/*
 * fields.h - "key=value key=value ... why=rest of the line"
 *
 * The one text form of all that the parts tell each other. Text from jobs is
 * hostile: parsing is bounded, allocates nothing and trusts nothing. Keys are
 * [a-z0-9_-], values have no blanks and no brackets; the value of `why` is
 * the rest of the line.
 */
#ifndef PLX_CORE_FIELDS_H
#define PLX_CORE_FIELDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/error.h"

#define PLX_FIELDS_MAX 1024 /* bytes of a text, with its final NUL */

/* A text being written: never overruns, remembers that it did not fit. */
struct plx_writer {
	char *text; /* the caller's, NUL-terminated at all times */
	size_t size;
	size_t used;
	bool overflow;
};

void plx_writer_init(struct plx_writer *w, char *text, size_t size);
/* Append " key=value" (no blank before the first). */
void plx_write_text(struct plx_writer *w, const char *key, const char *value);
void plx_write_uint(struct plx_writer *w, const char *key, uint64_t value);
/* Comma-separated numbers, %.6g. */
void plx_write_doubles(struct plx_writer *w, const char *key,
		       const double *values, int count);
/* The last field: control characters and ']' become blanks and ')'. */
void plx_write_why(struct plx_writer *w, const char *why);

/*
 * Find a field. The value is copied to out (cut never: false when it does
 * not fit). False when the key is not there.
 */
bool plx_field_text(const char *text, const char *key, char *out, size_t size);

/* The typed forms: 1 found, 0 absent, -1 with err set (bad or out of range). */
int plx_field_int(const char *text, const char *key, int min, int max, int *out,
		  struct plx_error *err);
/* Exactly count finite numbers, each within [min, max]. */
int plx_field_doubles(const char *text, const char *key, double min, double max,
		      double *out, int count, struct plx_error *err);

#endif
