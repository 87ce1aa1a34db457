/* SPDX-License-Identifier: GPL-2.0-or-later */
/* columns.c - see columns.h */

#define _GNU_SOURCE

#include <ctype.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <time.h>

#include "report/columns.h"
#include "report/text.h"

#define TEXT_SIZE 512
#define WIDTH_MAX 200

static const struct plx_field *find(const struct plx_field *table,
				    const char *name, size_t length)
{
	for (const struct plx_field *f = table; f->name; f++) {
		if (strlen(f->name) == length &&
		    !strncasecmp(f->name, name, length))
			return f;
	}
	return NULL;
}

static int add(struct plx_columns *columns, const struct plx_field *field,
	       int width, struct plx_error *err)
{
	if (columns->count == PLX_COLUMNS_MAX)
		return plx_fail(err, "more than %d fields", PLX_COLUMNS_MAX);
	columns->fields[columns->count] = field;
	columns->widths[columns->count++] = width;
	return 0;
}

/* "Name", "Name%20", "Name%-20" of so many characters. */
static int read_one(const struct plx_field *table, const char *text,
		    size_t length, struct plx_columns *columns,
		    struct plx_error *err)
{
	const char *percent = memchr(text, '%', length);
	size_t name = percent ? (size_t) (percent - text) : length;
	const struct plx_field *field = find(table, text, name);
	long width;

	if (!field)
		return plx_fail(err,
				"no field '%.*s'; --format=help lists them",
				(int) (name < 60 ? name : 60), text);
	width = field->width;
	if (percent)
		width = strtol(percent + 1, NULL, 10);
	if (width == 0 || width > WIDTH_MAX || width < -WIDTH_MAX)
		return plx_fail(err, "%s: a width is from 1 to %d", field->name,
				WIDTH_MAX);
	return add(columns, field, (int) width, err);
}

int plx_columns_read(const struct plx_field *table, const char *text,
		     struct plx_columns *columns, struct plx_error *err)
{
	struct plx_columns read = { .count = 0 };
	size_t length;

	for (; *text; text += length + (text[length] == ',')) {
		length = strcspn(text, ",");
		if (length == 0)
			continue;
		if (length == 3 && !strncasecmp(text, "ALL", 3)) {
			for (const struct plx_field *f = table; f->name; f++) {
				if (add(&read, f, f->width, err) < 0)
					return -1;
			}
		} else if (read_one(table, text, length, &read, err) < 0) {
			return -1;
		}
	}
	if (read.count == 0)
		return plx_fail(err, "want fields; --format=help lists them");
	*columns = read;
	return 0;
}

void plx_columns_help(const struct plx_field *table, FILE *out)
{
	for (const struct plx_field *f = table; f->name; f++)
		fprintf(out, "%-14s %s\n", f->name, f->about);
}

static void time_text(int64_t seconds, char *text, size_t size)
{
	time_t at = (time_t) seconds;
	struct tm tm;

	text[0] = '\0';
	if (seconds >= 0 && localtime_r(&at, &tm))
		strftime(text, size, "%Y-%m-%dT%H:%M:%S", &tm);
}

static void spell_text(double seconds, char *text, size_t size)
{
	if (seconds < 10)
		snprintf(text, size, "%.2fs", seconds);
	else
		plx_text_duration((int64_t) llround(seconds), text, size);
}

static const void *at(const struct plx_field *field, const void *item)
{
	return (const char *) item + field->offset;
}

/* A finite number as text; NAN leaves none. */
static void real_text(const struct plx_field *field, double value, bool people,
		      char *text, size_t size)
{
	text[0] = '\0';
	if (!isfinite(value) || fabs(value) > 1e15)
		return;
	if (people && field->kind == PLX_FIELD_SPELL)
		spell_text(value, text, size);
	else
		snprintf(text, size, "%.*f", field->decimals, value);
}

void plx_columns_text(const struct plx_field *field, const void *item,
		      bool people, char *text, size_t size)
{
	const void *value = at(field, item);

	switch (field->kind) {
	case PLX_FIELD_TEXT:
		plx_text_clean(*(const char *const *) value, text, size);
		break;
	case PLX_FIELD_COUNT:
		snprintf(text, size, "%d", *(const int *) value);
		break;
	case PLX_FIELD_HOURS:
		snprintf(text, size, "%.*f", field->decimals,
			 (double) *(const int64_t *) value / 3600);
		break;
	case PLX_FIELD_REAL:
	case PLX_FIELD_SPELL:
		real_text(field, *(const double *) value, people, text, size);
		break;
	case PLX_FIELD_OWN:
		field->write(item, text, size);
		break;
	case PLX_FIELD_TIME:
	case PLX_FIELD_SECONDS:
	case PLX_FIELD_LONG:
		if (people && field->kind == PLX_FIELD_TIME)
			time_text(*(const int64_t *) value, text, size);
		else if (people && field->kind == PLX_FIELD_SECONDS)
			plx_text_duration(*(const int64_t *) value, text, size);
		else
			snprintf(text, size, "%" PRId64,
				 *(const int64_t *) value);
		break;
	}
}

/* Characters, not bytes; UTF-8 as plx_text_clean() leaves it. */
static int characters(const char *text)
{
	int count = 0;

	for (; *text; text++)
		count += ((unsigned char) *text & 0xc0) != 0x80;
	return count;
}

static void cut(char *text, int width)
{
	char *p = text;

	while (*p && width > 0) {
		p++;
		while (((unsigned char) *p & 0xc0) == 0x80)
			p++;
		width--;
	}
	*p = '\0';
}

/* A delimiter in a user's text must not shift the columns. */
static void no_bars(char *text)
{
	for (; (text = strchr(text, '|')); text++)
		*text = '?';
}

static void put(const struct plx_columns *columns, int i, enum plx_style style,
		char *text, FILE *out)
{
	bool last = i == columns->count - 1;
	int width = abs(columns->widths[i]);
	int pad;

	if (style != PLX_STYLE_TABLE) {
		no_bars(text);
		fprintf(out, "%s%s", text,
			last && style == PLX_STYLE_PARSABLE2 ? "" : "|");
		return;
	}
	cut(text, width);
	pad = width - characters(text);
	if (columns->widths[i] < 0)
		fprintf(out, "%s%*s", text, last ? 0 : pad, "");
	else
		fprintf(out, "%*s%s", pad, "", text);
	if (!last)
		fputc(' ', out);
}

void plx_columns_head(const struct plx_columns *columns, enum plx_style style,
		      FILE *out)
{
	char text[TEXT_SIZE];

	for (int i = 0; i < columns->count; i++) {
		snprintf(text, sizeof(text), "%s", columns->fields[i]->name);
		put(columns, i, style, text, out);
	}
	fputc('\n', out);
	for (int i = 0; i < columns->count && style == PLX_STYLE_TABLE; i++) {
		for (int c = 0; c < abs(columns->widths[i]); c++)
			fputc('-', out);
		fputc(i == columns->count - 1 ? '\n' : ' ', out);
	}
}

void plx_columns_row(const struct plx_columns *columns, enum plx_style style,
		     const void *item, FILE *out)
{
	bool people = style == PLX_STYLE_TABLE;
	char text[TEXT_SIZE];

	for (int i = 0; i < columns->count; i++) {
		plx_columns_text(columns->fields[i], item, people, text,
				 sizeof(text));
		if (!*text && people)
			snprintf(text, sizeof(text), "-");
		put(columns, i, style, text, out);
	}
	fputc('\n', out);
}

static json_t *value_json(const struct plx_field *field, const void *item)
{
	const void *value = at(field, item);
	char text[TEXT_SIZE];

	switch (field->kind) {
	case PLX_FIELD_COUNT:
		return json_integer(*(const int *) value);
	case PLX_FIELD_TIME:
	case PLX_FIELD_SECONDS:
	case PLX_FIELD_LONG:
		return json_integer(*(const int64_t *) value);
	case PLX_FIELD_HOURS:
		return json_real((double) *(const int64_t *) value / 3600);
	case PLX_FIELD_REAL:
	case PLX_FIELD_SPELL:
		return isfinite(*(const double *) value)
			       ? json_real(*(const double *) value)
			       : json_null();
	default:
		plx_columns_text(field, item, false, text, sizeof(text));
		return json_string(text);
	}
}

json_t *plx_columns_json(const struct plx_field *table, const void *item)
{
	json_t *out = json_object();
	char key[32];

	for (const struct plx_field *f = table; f->name; f++) {
		size_t i = 0;

		for (; f->name[i] && i < sizeof(key) - 1; i++)
			key[i] = (char) tolower((unsigned char) f->name[i]);
		key[i] = '\0';
		json_object_set_new(out, key, value_json(f, item));
	}
	return out;
}
