/* SPDX-License-Identifier: GPL-2.0-or-later */
/* rows.c - see rows.h */

#define _GNU_SOURCE

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <time.h>

#include "report/rows.h"
#include "report/text.h"

#define COLUMNS_MAX   64
#define DELIMITER_MAX 64
#define UNGUESSED_MIN 10 /* bytes of a delimiter that no name can have */
/* The year 2286: GPU-seconds until then can be added up. */
#define TIME_MAX 10000000000

enum column {
	COLUMN_ID,
	COLUMN_NUMBER,
	COLUMN_NAME,
	COLUMN_STATE,
	COLUMN_SUBMIT,
	COLUMN_START,
	COLUMN_END,
	COLUMN_TRES,
	COLUMN_NODES,
	COLUMN_USER,
	COLUMN_ACCOUNT,
	COLUMN_PARTITION,
	COLUMN_STORY,
	COLUMN_COMMENT,
	COLUMN_COUNT,
};

static const struct {
	const char *name;
	bool needed;
	bool by_user; /* any text, newlines included */
} columns[COLUMN_COUNT] = {
	[COLUMN_ID] = { "JobID", true },
	[COLUMN_NUMBER] = { "JobIDRaw", false },
	[COLUMN_NAME] = { "JobName", false, true },
	[COLUMN_STATE] = { "State", true },
	[COLUMN_SUBMIT] = { "Submit", true },
	[COLUMN_START] = { "Start", true },
	[COLUMN_END] = { "End", true },
	[COLUMN_TRES] = { "AllocTRES", true },
	[COLUMN_NODES] = { "NodeList", false },
	[COLUMN_USER] = { "User", false },
	[COLUMN_ACCOUNT] = { "Account", false },
	[COLUMN_PARTITION] = { "Partition", false },
	[COLUMN_STORY] = { "SystemComment", false },
	[COLUMN_COMMENT] = { "Comment", false, true },
};

struct span {
	const char *text;
	size_t size;
};

/* Where we are in the text, and what its first line said. */
struct reader {
	const char *text;
	const char *end;
	int line;
	char delimiter[DELIMITER_MAX];
	int delimiters;		    /* in a record */
	int position[COLUMN_COUNT]; /* of each column; -1: not there */
};

static const char *find(struct span in, const char *what)
{
	return memmem(in.text, in.size, what, strlen(what));
}

static struct span take_line(struct reader *r)
{
	const char *newline = memchr(r->text, '\n', r->end - r->text);
	struct span line = { r->text, (newline ? newline : r->end) - r->text };

	r->text = newline ? newline + 1 : r->end;
	r->line++;
	return line;
}

static int count_delimiters(const struct reader *r, struct span line)
{
	size_t length = strlen(r->delimiter);
	int count = 0;
	const char *at;

	while ((at = find(line, r->delimiter))) {
		count++;
		line.size -= at + length - line.text;
		line.text = at + length;
	}
	return count;
}

/* The field that starts at *rest, which moves behind its delimiter. */
static struct span take_field(const struct reader *r, struct span *rest)
{
	const char *at = find(*rest, r->delimiter);
	struct span field = { rest->text,
			      at ? (size_t) (at - rest->text) : rest->size };
	size_t used = field.size + (at ? strlen(r->delimiter) : 0);

	rest->text += used;
	rest->size -= used;
	return field;
}

/* What follows the first name up to the next letter is the delimiter. */
static int read_delimiter(struct reader *r, struct span line,
			  struct plx_error *err)
{
	size_t name = strlen(columns[COLUMN_ID].name);
	size_t length = 0;

	if (line.size < name ||
	    strncasecmp(line.text, columns[COLUMN_ID].name, name) != 0)
		return plx_fail(err, "line 1: want the column names of sacct, "
				     "JobID first");
	line.text += name;
	line.size -= name;
	/* Ours is <digits>, so only a capital letter ends it. */
	while (length < line.size &&
	       !(line.text[length] >= 'A' && line.text[length] <= 'Z'))
		length++;
	if (length == 0 || length >= DELIMITER_MAX)
		return plx_fail(err, "line 1: no delimiter after JobID");
	memcpy(r->delimiter, line.text, length);
	r->delimiter[length] = '\0';
	return 0;
}

static int read_header(struct reader *r, struct plx_error *err)
{
	struct span line = take_line(r);
	struct span name;

	for (int i = 0; i < COLUMN_COUNT; i++)
		r->position[i] = -1;
	if (read_delimiter(r, line, err) < 0)
		return -1;
	r->delimiters = count_delimiters(r, line);
	if (r->delimiters >= COLUMNS_MAX)
		return plx_fail(err, "line 1: too many columns");
	for (int at = 0; at <= r->delimiters; at++) {
		name = take_field(r, &line);
		for (int i = 0; i < COLUMN_COUNT; i++) {
			if (strlen(columns[i].name) == name.size &&
			    !strncasecmp(columns[i].name, name.text, name.size))
				r->position[i] = at;
		}
	}
	for (int i = 0; i < COLUMN_COUNT; i++) {
		if (columns[i].needed && r->position[i] < 0)
			return plx_fail(err, "line 1: no column %s",
					columns[i].name);
	}
	return 0;
}

/* Is every column one that we know, and none a text of users? */
static bool only_ours(const struct reader *r)
{
	int known = 0;

	for (int i = 0; i < COLUMN_COUNT; i++) {
		if (r->position[i] >= 0 && columns[i].by_user)
			return false;
		known += r->position[i] >= 0;
	}
	return known == r->delimiters + 1;
}

/* Lines until there are delimiters enough; false when the text ends first. */
static bool take_record(struct reader *r, struct span *record)
{
	struct span line = take_line(r);
	int found = count_delimiters(r, line);

	*record = line;
	while (found < r->delimiters && r->text < r->end) {
		line = take_line(r);
		found += count_delimiters(r, line);
		record->size = line.text + line.size - record->text;
	}
	return found >= r->delimiters;
}

static int parse_time(struct span field, int64_t *out)
{
	char text[32];
	struct tm tm = { .tm_isdst = -1 };
	char *rest;

	if (field.size >= sizeof(text))
		return -1;
	memcpy(text, field.text, field.size);
	text[field.size] = '\0';
	*out = PLX_TIME_NONE;
	if (!*text || !strcmp(text, "Unknown") || !strcmp(text, "None"))
		return 0;
	rest = strptime(text, "%Y-%m-%dT%H:%M:%S", &tm);
	if (rest && !*rest) {
		*out = mktime(&tm);
		return *out < 0 || *out > TIME_MAX ? -1 : 0;
	}
	*out = strtoll(text, &rest, 10);
	return *rest || *out < 0 || *out > TIME_MAX ? -1 : 0;
}

/* "billing=2,cpu=2,gres/gpu=4,node=2": 4; typed counts are parts of it. */
static int parse_gpus(struct span field, int *out)
{
	const char *key = "gres/gpu=";
	const char *at = find(field, key);
	long value = 0;

	*out = 0;
	if (!at || (at > field.text && at[-1] != ','))
		return 0;
	at += strlen(key);
	for (; at < field.text + field.size && *at >= '0' && *at <= '9'; at++) {
		value = value * 10 + (*at - '0');
		if (value > 1000000)
			return -1;
	}
	*out = (int) value;
	return 0;
}

static bool copy(struct span field, char **out)
{
	*out = strndup(field.text ? field.text : "", field.size);
	return *out;
}

static void row_release(struct plx_sacct_row *row)
{
	free(row->id);
	free(row->number);
	free(row->name);
	free(row->state);
	free(row->nodes);
	free(row->user);
	free(row->account);
	free(row->partition);
	free(row->story);
	free(row->comment);
}

static int fill_row(const struct span *fields, int line,
		    struct plx_sacct_row *row, struct plx_error *err)
{
	const struct {
		enum column column;
		int64_t *out;
	} times[] = {
		{ COLUMN_SUBMIT, &row->submit },
		{ COLUMN_START, &row->start },
		{ COLUMN_END, &row->end },
	};
	const struct {
		enum column column;
		char **out;
	} texts[] = {
		{ COLUMN_ID, &row->id },
		{ COLUMN_NUMBER, &row->number },
		{ COLUMN_NAME, &row->name },
		{ COLUMN_STATE, &row->state },
		{ COLUMN_NODES, &row->nodes },
		{ COLUMN_USER, &row->user },
		{ COLUMN_ACCOUNT, &row->account },
		{ COLUMN_PARTITION, &row->partition },
		{ COLUMN_STORY, &row->story },
		{ COLUMN_COMMENT, &row->comment },
	};

	for (size_t i = 0; i < sizeof(times) / sizeof(times[0]); i++) {
		if (parse_time(fields[times[i].column], times[i].out) < 0)
			return plx_fail(err, "line %d: %s is not a time", line,
					columns[times[i].column].name);
	}
	if (parse_gpus(fields[COLUMN_TRES], &row->gpus) < 0)
		return plx_fail(err, "line %d: more GPUs than can be", line);
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		if (!copy(fields[texts[i].column], texts[i].out))
			return plx_fail(err, "out of memory");
	}
	row->state[strcspn(row->state, " ")] = '\0'; /* "CANCELLED by 0" */
	return 0;
}

static int parse_record(const struct reader *r, struct span record, int line,
			struct plx_sacct_row *row, struct plx_error *err)
{
	struct span fields[COLUMN_COUNT] = { { "", 0 } };
	struct span field;

	for (int at = 0; at <= r->delimiters; at++) {
		/* Without a delimiter at the end the last takes the rest. */
		field = at < r->delimiters ? take_field(r, &record) : record;
		for (int i = 0; i < COLUMN_COUNT; i++) {
			if (r->position[i] == at)
				fields[i] = field;
		}
	}
	if (fields[COLUMN_ID].size == 0 || *fields[COLUMN_ID].text < '0' ||
	    *fields[COLUMN_ID].text > '9')
		return plx_fail(err, "line %d: want a job id first", line);
	*row = (struct plx_sacct_row){ .id = NULL };
	if (fill_row(fields, line, row, err) < 0) {
		row_release(row);
		return -1;
	}
	return 0;
}

static int append(struct plx_rows *rows, const struct plx_sacct_row *row,
		  struct plx_error *err)
{
	struct plx_sacct_row *grown;

	/* Doubles at powers of two. */
	if ((rows->count & (rows->count - 1)) == 0) {
		grown = reallocarray(rows->rows,
				     rows->count ? 2 * rows->count : 1,
				     sizeof(*grown));
		if (!grown)
			return plx_fail(err, "out of memory");
		rows->rows = grown;
	}
	rows->rows[rows->count++] = *row;
	return 0;
}

static int parse_rows(struct reader *r, struct plx_rows *rows,
		      struct plx_error *err)
{
	struct plx_sacct_row row;
	struct span record;
	int line;

	while (r->text < r->end) {
		line = r->line + 1;
		if (*r->text == '\n') {
			take_line(r);
			continue;
		}
		if (!take_record(r, &record))
			return plx_fail(err,
					"line %d: want %d fields, as line 1",
					line, r->delimiters + 1);
		if (parse_record(r, record, line, &row, err) < 0)
			return -1;
		if (strchr(row.id, '.')) {
			row_release(&row); /* a step */
		} else if (append(rows, &row, err) < 0) {
			row_release(&row);
			return -1;
		}
	}
	return 0;
}

int plx_rows_parse(const char *text, size_t size, struct plx_rows *rows,
		   struct plx_error *err)
{
	struct reader reader = { .text = text, .end = text + size };
	struct plx_rows read = { NULL, 0 };
	int rc = -1;

	if (read_header(&reader, err) < 0 ||
	    parse_rows(&reader, &read, err) < 0)
		goto done;
	*rows = read;
	read = (struct plx_rows){ NULL, 0 };
	rc = 0;
done:
	plx_rows_release(&read);
	return rc;
}

int plx_rows_believable(const char *text, size_t size, struct plx_error *err)
{
	struct reader reader = { .text = text, .end = text + size };
	char shown[DELIMITER_MAX];

	if (read_header(&reader, err) < 0)
		return -1;
	if (strlen(reader.delimiter) >= UNGUESSED_MIN || only_ours(&reader))
		return 0;
	return plx_fail(err,
			"line 1: between \"%s\" a job's name can pose as "
			"other jobs' rows: give sacct a long random "
			"--delimiter, as pollux-report(1) says",
			plx_text_clean(reader.delimiter, shown, sizeof(shown)));
}

/* Is it on the list? With parts, "3_1" is where "3" is. */
static bool listed(const char *list, const char *name, bool parts)
{
	size_t bare = parts ? strcspn(name, "_+") : strlen(name);
	size_t length;

	for (; list && *list; list += length + (list[length] == ',')) {
		length = strcspn(list, ",");
		if ((length == strlen(name) || length == bare) && length > 0 &&
		    !strncmp(list, name, length))
			return true;
	}
	return !list;
}

void plx_rows_keep(struct plx_rows *rows, const char *jobs, const char *users,
		   const char *accounts, const char *partitions)
{
	size_t kept = 0;

	for (size_t i = 0; i < rows->count; i++) {
		struct plx_sacct_row *row = &rows->rows[i];

		if (listed(jobs, row->id, true) &&
		    listed(users, row->user, false) &&
		    listed(accounts, row->account, false) &&
		    listed(partitions, row->partition, false))
			rows->rows[kept++] = *row;
		else
			row_release(row);
	}
	rows->count = kept;
}

void plx_rows_release(struct plx_rows *rows)
{
	for (size_t i = 0; i < rows->count; i++)
		row_release(&rows->rows[i]);
	free(rows->rows);
	*rows = (struct plx_rows){ NULL, 0 };
}
