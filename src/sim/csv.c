/* SPDX-License-Identifier: MIT */
/* csv.c - tables of numbers and names, with sentences that name the line */

#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "sim/csv.h"

enum { COLUMNS_MAX = 64, QUOTED_MAX = 40 };

/* What one parse knows. */
struct reader {
	struct plx_csv *csv;
	const char *const *columns;
	int places[COLUMNS_MAX]; /* of each column in the file */
	int file_columns;
	int capacity; /* rows there is memory for */
};

static int fail_at(const struct plx_csv *csv, int line, struct plx_error *err,
		   const char *text)
{
	return plx_fail(err, "%s:%d: %s", csv->name, line, text);
}

int plx_csv_fail(const struct plx_csv *csv, int row, struct plx_error *err,
		 const char *fmt, ...)
{
	char text[PLX_ERROR_SIZE];
	va_list args;

	va_start(args, fmt);
	vsnprintf(text, sizeof(text), fmt, args);
	va_end(args);
	return fail_at(csv, csv->lines[row], err, text);
}

/* Cut a line into cells, in place. Returns how many; COLUMNS_MAX + 1: more. */
static int split(char *line, char *cells[COLUMNS_MAX])
{
	int count = 0;

	while (line && count <= COLUMNS_MAX) {
		char *comma = strchr(line, ',');

		if (comma)
			*comma = '\0';
		if (count < COLUMNS_MAX)
			cells[count] = line;
		count++;
		line = comma ? comma + 1 : NULL;
	}
	return count;
}

/* Which cell of the header has the name; -1: none, -2: several. */
static int find_cell(char *cells[], int count, const char *name)
{
	int found = -1;

	for (int at = 0; at < count; at++) {
		if (strcmp(cells[at], name) == 0)
			found = found == -1 ? at : -2;
	}
	return found;
}

static int find_columns(struct reader *reader, char *line, int number,
			struct plx_error *err)
{
	char *cells[COLUMNS_MAX];
	char text[PLX_ERROR_SIZE];
	int count = split(line, cells);

	if (count > COLUMNS_MAX)
		return fail_at(reader->csv, number, err, "too many columns");
	reader->file_columns = count;
	for (int c = 0; reader->columns[c]; c++) {
		int at = find_cell(cells, count, reader->columns[c]);

		if (at < 0) {
			snprintf(text, sizeof(text), "%s column \"%s\"",
				 at == -1 ? "no" : "more than one",
				 reader->columns[c]);
			return fail_at(reader->csv, number, err, text);
		}
		reader->places[c] = at;
	}
	return 0;
}

static int grow(struct reader *reader, struct plx_error *err)
{
	struct plx_csv *csv = reader->csv;
	int capacity = reader->capacity ? 2 * reader->capacity : 64;
	size_t width = (size_t) csv->column_count * sizeof(*csv->cells);
	char **cells = realloc(csv->cells, (size_t) capacity * width);
	int *lines;

	if (cells)
		csv->cells = cells;
	lines = realloc(csv->lines, (size_t) capacity * sizeof(*lines));
	if (lines)
		csv->lines = lines;
	if (!cells || !lines)
		return plx_fail(err, "%s: no memory for %d rows", csv->name,
				capacity);
	reader->capacity = capacity;
	return 0;
}

static int add_row(struct reader *reader, char *line, int number,
		   struct plx_error *err)
{
	struct plx_csv *csv = reader->csv;
	char *cells[COLUMNS_MAX];
	char text[PLX_ERROR_SIZE];
	int count = split(line, cells);

	if (count != reader->file_columns) {
		snprintf(text, sizeof(text), "%d cells: the header has %d",
			 count, reader->file_columns);
		return fail_at(csv, number, err, text);
	}
	if (csv->row_count == reader->capacity && grow(reader, err) < 0)
		return -1;
	for (int c = 0; c < csv->column_count; c++) {
		char *cell = cells[reader->places[c]];

		if (!*cell) {
			snprintf(text, sizeof(text), "nothing in column \"%s\"",
				 reader->columns[c]);
			return fail_at(csv, number, err, text);
		}
		csv->cells[csv->row_count * csv->column_count + c] = cell;
	}
	csv->lines[csv->row_count++] = number;
	return 0;
}

/* Names in it are printed as they are. */
static bool is_plain(const char *line, size_t length)
{
	for (size_t i = 0; i < length; i++) {
		if (((unsigned char) line[i] < ' ' && line[i] != '\t') ||
		    line[i] == '"' || line[i] == 127)
			return false;
	}
	return true;
}

static int read_lines(struct reader *reader, size_t size, struct plx_error *err)
{
	struct plx_csv *csv = reader->csv;
	char *end = csv->text + size;
	bool header = false;
	int number = 1;
	char *next;

	for (char *line = csv->text; line < end; line = next, number++) {
		char *stop = memchr(line, '\n', (size_t) (end - line));

		next = stop ? stop + 1 : end;
		stop = stop ? stop : end;
		*stop = '\0';
		if (stop > line && stop[-1] == '\r')
			*--stop = '\0';
		if (!is_plain(line, (size_t) (stop - line)))
			return fail_at(csv, number, err,
				       "quotes or control characters: want "
				       "plain text");
		if (!*line)
			continue;
		if ((header ? add_row : find_columns)(reader, line, number,
						      err) < 0)
			return -1;
		header = true;
	}
	if (!header)
		return fail_at(csv, 1, err, "no header: the file is empty");
	return 0;
}

int plx_csv_parse(const char *name, const char *text, size_t size,
		  const char *const *columns, struct plx_csv *csv,
		  struct plx_error *err)
{
	struct plx_csv made = { .name = strdup(name),
				.text = malloc(size + 1) };
	struct reader reader = { .csv = &made, .columns = columns };
	int rc = -1;

	if (!made.name || !made.text) {
		plx_fail(err, "%s: no memory for its %zu bytes", name, size);
		goto done;
	}
	memcpy(made.text, text, size);
	made.text[size] = '\0';
	while (columns[made.column_count])
		made.column_count++;
	if (read_lines(&reader, size, err) < 0)
		goto done;
	*csv = made;
	made = (struct plx_csv){ 0 }; /* now the caller's */
	rc = 0;
done:
	plx_csv_release(&made);
	return rc;
}

/* The whole file, unpacked, the caller's to free. */
static int read_file(const char *path, gzFile in, char **text, size_t *size,
		     struct plx_error *err)
{
	size_t capacity = 0;
	int got;

	*size = 0;
	do {
		char *larger = realloc(*text, capacity = capacity ? 2 * capacity
								  : 65536);

		if (!larger)
			return plx_fail(err, "%s: no memory to read it", path);
		*text = larger;
		errno = 0;
		got = gzread(in, *text + *size, (unsigned) (capacity - *size));
		if (got < 0)
			return plx_fail(err, "%s: %s", path,
					errno ? strerror(errno)
					      : "not compressed as gzip does");
		*size += (size_t) got;
	} while (*size == capacity && *size <= PLX_CSV_SIZE_MAX);
	if (*size > PLX_CSV_SIZE_MAX)
		return plx_fail(err, "%s: larger than %d bytes", path,
				PLX_CSV_SIZE_MAX);
	return 0;
}

int plx_csv_load(const char *path, const char *const *columns,
		 struct plx_csv *csv, struct plx_error *err)
{
	gzFile in = gzopen(path, "rb");
	char *text = NULL;
	size_t size;
	int rc = -1;

	if (!in)
		return plx_fail(err, "%s: %s", path, strerror(errno));
	if (read_file(path, in, &text, &size, err) == 0)
		rc = plx_csv_parse(path, text, size, columns, csv, err);
	free(text);
	if (gzclose(in) != Z_OK && rc == 0) {
		plx_csv_release(csv);
		rc = plx_fail(err, "%s: cut short", path);
	}
	return rc;
}

int plx_csv_path(const char *dir, const char *file, char path[PATH_MAX],
		 struct plx_error *err)
{
	int n = snprintf(path, PATH_MAX, "%s/%s", dir, file);

	if (n < 0 || n >= PATH_MAX)
		return plx_fail(err, "%s/%s: too long a path", dir, file);
	return 0;
}

void plx_csv_release(struct plx_csv *csv)
{
	free(csv->name);
	free(csv->text);
	free(csv->cells);
	free(csv->lines);
	*csv = (struct plx_csv){ 0 };
}

const char *plx_csv_text(const struct plx_csv *csv, int row, int column)
{
	return csv->cells[row * csv->column_count + column];
}

int plx_csv_real(const struct plx_csv *csv, int row, int column,
		 const double range[2], double *value, struct plx_error *err)
{
	const char *text = plx_csv_text(csv, row, column);
	char *end;
	double number = strtod(text, &end);

	if (*end || !isfinite(number))
		return plx_csv_fail(csv, row, err, "\"%.*s\": want a number",
				    QUOTED_MAX, text);
	if (number < range[0] || number > range[1])
		return plx_csv_fail(csv, row, err,
				    "%.*s: want a number from %g to %g",
				    QUOTED_MAX, text, range[0], range[1]);
	*value = number;
	return 0;
}

int plx_csv_whole(const struct plx_csv *csv, int row, int column,
		  const int range[2], int *value, struct plx_error *err)
{
	const char *text = plx_csv_text(csv, row, column);
	char *end;
	long number;

	errno = 0;
	number = strtol(text, &end, 10);
	if (*end || end == text || errno == ERANGE || number < range[0] ||
	    number > range[1])
		return plx_csv_fail(csv, row, err,
				    "\"%.*s\": want a whole number from %d to "
				    "%d",
				    QUOTED_MAX, text, range[0], range[1]);
	*value = (int) number;
	return 0;
}
