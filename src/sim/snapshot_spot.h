/* SPDX-License-Identifier: MIT */
/*
 * snapshot_spot.h - a place in a JSON file, and what may stand there
 *
 * A spot knows the way to itself, so that a complaint can name the file, the
 * line and the path: "a.json:7: jobs[3].age: want a number from 0 to 10".
 * Spots live on the stack, each pointing to the one it is in.
 */
#ifndef PLX_SIM_SNAPSHOT_SPOT_H
#define PLX_SIM_SNAPSHOT_SPOT_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#include "core/error.h"

/* A file's text, NUL at its end, and its values. */
struct plx_page {
	const char *name; /* of the file; borrowed */
	const char *text; /* borrowed */
	json_t *root;
};

struct plx_spot {
	const struct plx_page *page;
	const struct plx_spot *up; /* NULL: the whole file */
	const char *key;	   /* in an object; NULL: an item of a list */
	size_t index;		   /* in a list */
	json_t *value;		   /* borrowed; NULL: there is nothing */
};

/* Any two equal keys of an object are refused. root is the caller's. */
int plx_page_parse(struct plx_page *page, size_t length, struct plx_error *err);

struct plx_spot plx_spot_root(const struct plx_page *page);
struct plx_spot plx_spot_at(const struct plx_spot *up, const char *key);
struct plx_spot plx_spot_item(const struct plx_spot *up, size_t index);

/* A sentence about this spot. Always -1. */
int plx_spot_fail(const struct plx_spot *spot, struct plx_error *err,
		  const char *fmt, ...) __attribute__((format(printf, 3, 4)));

/* What must be there; 0, or -1 with err set and *out as it was. */
int plx_spot_real(const struct plx_spot *spot, double low, double high,
		  double *out, struct plx_error *err);
int plx_spot_whole(const struct plx_spot *spot, double low, double high,
		   double *out, struct plx_error *err);
int plx_spot_flag(const struct plx_spot *spot, bool *out,
		  struct plx_error *err);
/* Not empty, at most 255 bytes; lives as long as the page's root. */
int plx_spot_text(const struct plx_spot *spot, const char **out,
		  struct plx_error *err);
int plx_spot_object(const struct plx_spot *spot, struct plx_error *err);
int plx_spot_list(const struct plx_spot *spot, size_t least, size_t most,
		  size_t *count, struct plx_error *err);

#endif
