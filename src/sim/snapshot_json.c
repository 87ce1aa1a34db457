/* SPDX-License-Identifier: MIT */
/* snapshot_json.c - a place in a JSON file, and what may stand there */

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "sim/snapshot_json.h"

#define PATH_SIZE 128
#define KEY_SHOWN 40
#define TEXT_MAX  255

/* Texts come from a file: nothing of them may move a terminal's cursor. */
static void make_plain(char *text)
{
	for (char *c = text; *c; c++) {
		if ((unsigned char) *c < ' ' || (unsigned char) *c > '~')
			*c = '?';
	}
}

int plx_page_parse(struct plx_page *page, size_t length, struct plx_error *err)
{
	json_error_t why;

	page->root =
		json_loadb(page->text, length, JSON_REJECT_DUPLICATES, &why);
	if (page->root)
		return 0;
	make_plain(why.text);
	return plx_fail(err, "%.100s:%d: column %d: %.100s", page->name,
			why.line, why.column, why.text);
}

struct plx_json plx_json_root(const struct plx_page *page)
{
	return (struct plx_json){ .page = page, .value = page->root };
}

struct plx_json plx_json_at(const struct plx_json *up, const char *key)
{
	return (struct plx_json){
		.page = up->page,
		.up = up,
		.key = key,
		.value = json_object_get(up->value, key),
	};
}

struct plx_json plx_json_item(const struct plx_json *up, size_t index)
{
	return (struct plx_json){
		.page = up->page,
		.up = up,
		.index = index,
		.value = json_array_get(up->value, index),
	};
}

/* The rest of this file looks at text that Jansson has accepted. */
static const char *skip_blank(const char *at)
{
	return at + strspn(at, " \t\r\n");
}

static const char *skip_string(const char *at)
{
	for (at++; *at && *at != '"'; at++)
		at += *at == '\\' && at[1];
	return *at ? at + 1 : at;
}

/* Past a value, of whatever depth. */
static const char *skip_value(const char *at)
{
	int depth = 0;

	for (at = skip_blank(at); *at; at++) {
		if (*at == '"')
			at = skip_string(at) - 1;
		else if (*at == '{' || *at == '[')
			depth++;
		else if ((*at == '}' || *at == ']') && --depth < 0)
			return at;
		else if (*at == ',' && depth == 0)
			return at;
	}
	return at;
}

/* The value of a key, at being the object's brace; NULL: not found. */
static const char *find_key(const char *at, const char *key)
{
	size_t length = strlen(key);

	at = skip_blank(at + 1);
	while (*at == '"') {
		const char *name = at + 1;
		const char *end = skip_string(at);
		const char *value = skip_blank(skip_blank(end) + 1);

		if ((size_t) (end - 1 - name) == length &&
		    !memcmp(name, key, length))
			return value;
		at = skip_value(value);
		at = skip_blank(*at == ',' ? at + 1 : at);
	}
	return NULL;
}

static const char *find_item(const char *at, size_t index)
{
	at = skip_blank(at + 1);
	for (; index > 0 && *at && *at != ']'; index--) {
		at = skip_value(at);
		at = skip_blank(*at == ',' ? at + 1 : at);
	}
	return *at && *at != ']' ? at : NULL;
}

/* Where its text begins, or what it should be in. */
static const char *find_text(const struct plx_json *json)
{
	const char *up;
	const char *found = NULL;

	if (!json->up)
		return skip_blank(json->page->text);
	up = find_text(json->up);
	if (json->key && *up == '{')
		found = find_key(up, json->key);
	else if (!json->key && *up == '[')
		found = find_item(up, json->index);
	return found ? found : up;
}

static int line_of(const struct plx_json *json)
{
	const char *end = find_text(json);
	int line = 1;

	for (const char *at = json->page->text; at < end; at++)
		line += *at == '\n';
	return line;
}

/* "jobs[3].age" */
static void write_path(const struct plx_json *json, char path[PATH_SIZE])
{
	char last[KEY_SHOWN + 32];
	size_t used;

	if (!json->up) {
		path[0] = '\0';
		return;
	}
	write_path(json->up, path);
	used = strlen(path);
	if (json->key)
		snprintf(last, sizeof(last), "%s%.*s", used ? "." : "",
			 KEY_SHOWN, json->key);
	else
		snprintf(last, sizeof(last), "[%zu]", json->index);
	snprintf(path + used, PATH_SIZE - used, "%s", last);
}

int plx_json_fail(const struct plx_json *json, struct plx_error *err,
		  const char *fmt, ...)
{
	char path[PATH_SIZE];
	char sentence[PLX_ERROR_SIZE];
	va_list args;

	va_start(args, fmt);
	vsnprintf(sentence, sizeof(sentence), fmt, args);
	va_end(args);
	write_path(json, path);
	make_plain(path);
	make_plain(sentence);
	return plx_fail(err, "%.100s:%d: %s%s%s", json->page->name,
			line_of(json), path, *path ? ": " : "", sentence);
}

int plx_json_real(const struct plx_json *json, double low, double high,
		  double *out, struct plx_error *err)
{
	double value = json_number_value(json->value);

	/* Not true of NaN. */
	if (!json_is_number(json->value) || !(value >= low && value <= high))
		return plx_json_fail(json, err,
				     "want a number from %.10g to "
				     "%.10g",
				     low, high);
	*out = value;
	return 0;
}

int plx_json_whole(const struct plx_json *json, double low, double high,
		   double *out, struct plx_error *err)
{
	double value = json_number_value(json->value);

	if (!json_is_number(json->value) || !(value >= low && value <= high) ||
	    value != floor(value))
		return plx_json_fail(json, err,
				     "want a whole number from %.10g to %.10g",
				     low, high);
	*out = value;
	return 0;
}

int plx_json_flag(const struct plx_json *json, bool *out, struct plx_error *err)
{
	if (!json_is_boolean(json->value))
		return plx_json_fail(json, err, "want true or false");
	*out = json_is_true(json->value);
	return 0;
}

int plx_json_text(const struct plx_json *json, const char **out,
		  struct plx_error *err)
{
	size_t length = json_string_length(json->value);

	if (!json_is_string(json->value) || length < 1 || length > TEXT_MAX)
		return plx_json_fail(
			json, err, "want text of 1 to %d characters", TEXT_MAX);
	*out = json_string_value(json->value);
	return 0;
}

int plx_json_object(const struct plx_json *json, struct plx_error *err)
{
	if (!json_is_object(json->value))
		return plx_json_fail(json, err, "want an object, {...}");
	return 0;
}

int plx_json_list(const struct plx_json *json, size_t least, size_t most,
		  size_t *count, struct plx_error *err)
{
	size_t size = json_array_size(json->value);

	if (!json_is_array(json->value) || size < least || size > most)
		return plx_json_fail(json, err, "want a list of %zu to %zu",
				     least, most);
	*count = size;
	return 0;
}
