/* SPDX-License-Identifier: MIT */
/*
 * snapshot_json.h - a place in a JSON file, and what may stand there
 *
 * A value knows the way to itself, so that a complaint can name the file, the
 * line and the path: "a.json:7: jobs[3].age: want a number from 0 to 10".
 * Spots live on the stack, each pointing to the one it is in.
 */
#ifndef PLX_SIM_SNAPSHOT_JSON_H
#define PLX_SIM_SNAPSHOT_JSON_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#include "core/base/error.h"

/* A file's text, NUL at its end, and its values. */
struct plx_page {
	const char *name; /* of the file; borrowed */
	const char *text; /* borrowed */
	json_t *root;
};

struct plx_json {
	const struct plx_page *page;
	const struct plx_json *up; /* NULL: the whole file */
	const char *key;	   /* in an object; NULL: an item of a list */
	size_t index;		   /* in a list */
	json_t *value;		   /* borrowed; NULL: there is nothing */
};

/* Any two equal keys of an object are refused. root is the caller's. */
int plx_page_parse(struct plx_page *page, size_t length, struct plx_error *err);

struct plx_json plx_json_root(const struct plx_page *page);
struct plx_json plx_json_at(const struct plx_json *up, const char *key);
struct plx_json plx_json_item(const struct plx_json *up, size_t index);

/* A sentence about this value. Always -1. */
int plx_json_fail(const struct plx_json *json, struct plx_error *err,
		  const char *fmt, ...) __attribute__((format(printf, 3, 4)));

/* What must be there; 0, or -1 with err set and *out as it was. */
int plx_json_real(const struct plx_json *json, double low, double high,
		  double *out, struct plx_error *err);
int plx_json_whole(const struct plx_json *json, double low, double high,
		   double *out, struct plx_error *err);
int plx_json_flag(const struct plx_json *json, bool *out,
		  struct plx_error *err);
/* Not empty, at most 255 bytes; lives as long as the page's root. */
int plx_json_text(const struct plx_json *json, const char **out,
		  struct plx_error *err);
int plx_json_object(const struct plx_json *json, struct plx_error *err);
int plx_json_list(const struct plx_json *json, size_t least, size_t most,
		  size_t *count, struct plx_error *err);

#endif
