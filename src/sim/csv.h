/* SPDX-License-Identifier: MIT */
/*
 * csv.h - tables of numbers and names, with sentences that name the line
 *
 * Comma-separated, a header first, no quotes. Columns are found by name in
 * any order; others may be there. Files may be compressed with gzip. Blank
 * lines and a carriage return at the end of a line are passed over. What is
 * wrong is told as "FILE:LINE: ...".
 */
#ifndef PLX_SIM_CSV_H
#define PLX_SIM_CSV_H

#include <limits.h>
#include <stddef.h>

#include "core/base/error.h"

#define PLX_CSV_SIZE_MAX 67108864 /* bytes of a file, unpacked */

struct plx_csv {
	char *name;   /* of the file, for sentences */
	char *text;   /* cells point into it */
	char **cells; /* [row_count * column_count], in the order asked for */
	int *lines;   /* [row_count] where each row is, from 1 */
	int column_count;
	int row_count;
};

/*
 * Read a file with these columns, NULL at the end. csv is the caller's to
 * release; untouched on failure.
 */
int plx_csv_load(const char *path, const char *const *columns,
		 struct plx_csv *csv, struct plx_error *err);

/* The same from memory; name stands for the file in sentences. */
int plx_csv_parse(const char *name, const char *text, size_t size,
		  const char *const *columns, struct plx_csv *csv,
		  struct plx_error *err);

/* dir/file, or -1 with err set. */
int plx_csv_path(const char *dir, const char *file, char path[PATH_MAX],
		 struct plx_error *err);

void plx_csv_release(struct plx_csv *csv); /* accepts a zeroed one, twice */

/* A cell as it stands, the table's to keep; never empty. */
const char *plx_csv_text(const struct plx_csv *csv, int row, int column);

/* A finite number from low to high. */
int plx_csv_real(const struct plx_csv *csv, int row, int column,
		 const double range[2], double *value, struct plx_error *err);

/* A whole number from low to high. */
int plx_csv_whole(const struct plx_csv *csv, int row, int column,
		  const int range[2], int *value, struct plx_error *err);

/* "FILE:LINE: " and the sentence. Always -1. */
int plx_csv_fail(const struct plx_csv *csv, int row, struct plx_error *err,
		 const char *fmt, ...) __attribute__((format(printf, 4, 5)));

#endif
