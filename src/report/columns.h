/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * columns.h - chosen fields of jobs or groups, as sacct prints them
 *
 * A field is a row of a table (column_table.c): adding one needs no code. In
 * tables for people times are short texts ("1m56s"); in parsable output they
 * are numbers: seconds, Unix times, GPU-hours. What is not known is "-" for
 * people, and empty for programs.
 */
#ifndef PLX_REPORT_COLUMNS_H
#define PLX_REPORT_COLUMNS_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "core/base/error.h"

#define PLX_COLUMNS_MAX 48

enum plx_field_kind {
	PLX_FIELD_TEXT,	   /* const char * */
	PLX_FIELD_COUNT,   /* int */
	PLX_FIELD_LONG,	   /* int64_t */
	PLX_FIELD_TIME,	   /* int64_t, Unix time */
	PLX_FIELD_SECONDS, /* int64_t */
	PLX_FIELD_HOURS,   /* int64_t, seconds told as hours */
	PLX_FIELD_REAL,	   /* double */
	PLX_FIELD_SPELL,   /* double, seconds */
	PLX_FIELD_OWN,	   /* write() knows */
};

struct plx_field {
	const char *name; /* any case; NULL ends a table */
	int width;
	enum plx_field_kind kind;
	size_t offset;
	int decimals; /* of a real */
	const char *about;
	void (*write)(const void *item, char *text, size_t size);
};

enum plx_style {
	PLX_STYLE_TABLE,
	PLX_STYLE_PARSABLE,  /* "a|b|" */
	PLX_STYLE_PARSABLE2, /* "a|b" */
};

struct plx_columns {
	const struct plx_field *fields[PLX_COLUMNS_MAX];
	int widths[PLX_COLUMNS_MAX]; /* below 0: to the left */
	int count;
};

/* Fields of struct plx_record, and of struct plx_group. */
extern const struct plx_field plx_fields_job[];
extern const struct plx_field plx_fields_group[];

/* Read "JobID,JobName%20,Rho"; "ALL" is every field. */
int plx_columns_read(const struct plx_field *table, const char *text,
		     struct plx_columns *columns, struct plx_error *err);

/* A line for each field: what --format=help prints. */
void plx_columns_help(const struct plx_field *table, FILE *out);

/* One field of an item; "" where it is not known. */
void plx_columns_text(const struct plx_field *field, const void *item,
		      bool people, char *text, size_t size);

void plx_columns_head(const struct plx_columns *columns, enum plx_style style,
		      FILE *out);
void plx_columns_row(const struct plx_columns *columns, enum plx_style style,
		     const void *item, FILE *out);

/* All fields of a table by their names in lower case. */
json_t *plx_columns_json(const struct plx_field *table, const void *item);

#endif
