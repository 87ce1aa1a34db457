/* SPDX-License-Identifier: MIT */
/* fields.c - "key=value key=value ... why=rest of the line" */

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "core/base/fields.h"
#include "core/base/sheet.h"

#define NUMBER_SIZE 32
#define DIGITS	    6
#define NUMBERS_MAX 16 /* in one field */
#define LAST_KEY    "why"

struct numbers {
	double value[NUMBERS_MAX];
	int count;
};

void plx_writer_init(struct plx_writer *w, char *text, size_t size)
{
	assert(size > 0);
	*w = (struct plx_writer){ .text = text, .size = size };
	text[0] = '\0';
}

/* A field is written whole or not at all, and nothing after one left out. */
static void append(struct plx_writer *w, const char *key, const char *value)
{
	const char *blank = w->used ? " " : "";
	size_t left = w->size - w->used;
	int length;

	if (w->overflow)
		return;
	length =
		snprintf(w->text + w->used, left, "%s%s=%s", blank, key, value);
	if (length < 0 || (size_t) length >= left) {
		w->text[w->used] = '\0';
		w->overflow = true;
		return;
	}
	w->used += length;
}

static bool in_value(char c)
{
	return (unsigned char) c > ' ' && c != 127 && c != '[' && c != ']';
}

void plx_write_text(struct plx_writer *w, const char *key, const char *value)
{
	char clean[PLX_FIELDS_MAX];
	size_t i;

	for (i = 0; value[i] && i < sizeof(clean) - 1; i++)
		clean[i] = in_value(value[i]) ? value[i] : '_';
	clean[i] = '\0';
	if (value[i])
		w->overflow = true;
	append(w, key, clean);
}

void plx_write_uint(struct plx_writer *w, const char *key, uint64_t value)
{
	char text[NUMBER_SIZE];

	snprintf(text, sizeof(text), "%llu", (unsigned long long) value);
	append(w, key, text);
}

void plx_write_doubles(struct plx_writer *w, const char *key,
		       const double *values, int count)
{
	char text[PLX_FIELDS_MAX] = "";
	char number[PLX_NUMBER_SIZE];
	size_t used = 0;

	for (int i = 0; i < count; i++) {
		if (used + PLX_NUMBER_SIZE + 1 > sizeof(text)) {
			w->overflow = true;
			return;
		}
		used += snprintf(text + used, sizeof(text) - used, "%s%s",
				 i ? "," : "",
				 plx_number(values[i], DIGITS, number));
	}
	append(w, key, text);
}

static char clean_why(char c)
{
	if (c == '[')
		return '(';
	if (c == ']')
		return ')';
	return (unsigned char) c < ' ' || c == 127 ? ' ' : c;
}

void plx_write_why(struct plx_writer *w, const char *why)
{
	char clean[PLX_FIELDS_MAX];
	size_t i;

	for (i = 0; why[i] && i < sizeof(clean) - 1; i++)
		clean[i] = clean_why(why[i]);
	clean[i] = '\0';
	append(w, LAST_KEY, clean);
}

/*
 * The value of key and its length, or NULL. What follows "why=" is prose and
 * never searched.
 */
static const char *find(const char *text, const char *key, size_t *length)
{
	size_t key_length = strlen(key);
	const char *at = text;

	if (strnlen(text, PLX_FIELDS_MAX) == PLX_FIELDS_MAX)
		return NULL;
	while (*at && *at != '\n') {
		size_t token = strcspn(at, " \n");
		const char *equals = memchr(at, '=', token);
		size_t name = equals ? (size_t) (equals - at) : token;
		bool last = name == strlen(LAST_KEY) &&
			    !memcmp(at, LAST_KEY, name) && equals;

		if (equals && name == key_length && !memcmp(at, key, name)) {
			*length = last ? strcspn(equals + 1, "\n")
				       : token - name - 1;
			return equals + 1;
		}
		if (last)
			return NULL;
		at += token;
		at += strspn(at, " ");
	}
	return NULL;
}

bool plx_field_text(const char *text, const char *key, char *out, size_t size)
{
	size_t length = 0;
	const char *value = find(text, key, &length);

	if (!value || length >= size)
		return false;
	memcpy(out, value, length);
	out[length] = '\0';
	return true;
}

/* Decimal digits only: true when all of text is a number within int64. */
static bool read_whole(const char *text, size_t length, int64_t *out)
{
	bool negative = length && text[0] == '-';
	int64_t value = 0;

	if (length <= negative || length > 18)
		return false;
	for (size_t i = negative; i < length; i++) {
		if (text[i] < '0' || text[i] > '9')
			return false;
		value = value * 10 + (text[i] - '0');
	}
	*out = negative ? -value : value;
	return true;
}

int plx_field_int(const char *text, const char *key, int min, int max, int *out,
		  struct plx_error *err)
{
	size_t length = 0;
	const char *value = find(text, key, &length);
	int64_t number;

	if (!value)
		return 0;
	if (!read_whole(value, length, &number) || number < min || number > max)
		return plx_fail(err, "%s: want a whole number from %d to %d",
				key, min, max);
	*out = (int) number;
	return 1;
}

/* Digits from *at on, added to *mantissa; how many of them did not fit it. */
static int read_digits(const char **at, const char *end, uint64_t *mantissa,
		       int *count)
{
	int dropped = 0;

	for (; *at < end && **at >= '0' && **at <= '9'; ++*at, ++*count) {
		if (*mantissa < UINT64_MAX / 10 - 1)
			*mantissa = *mantissa * 10 + (uint64_t) (**at - '0');
		else
			dropped++;
	}
	return dropped;
}

/* The exponent behind a number; false when it is not one. */
static bool read_exponent(const char *at, const char *end, int *exponent)
{
	int64_t value;

	if (at == end)
		return true;
	if (*at != 'e' && *at != 'E')
		return false;
	at++;
	if (at < end && *at == '+' && end - at > 1 && at[1] != '-')
		at++;
	if (!read_whole(at, (size_t) (end - at), &value) || value > 9999 ||
	    value < -9999)
		return false;
	*exponent += (int) value;
	return true;
}

/*
 * [-]digits[.digits][e[+-]digits] with a point in every locale; strtod()
 * would take hexadecimals, "nan" and the locale's comma. Within 1e-15.
 */
static bool read_double(const char *text, size_t length, double *out)
{
	const char *end = text + length;
	const char *at = text;
	bool negative = length && *at == '-';
	uint64_t mantissa = 0;
	double value;
	int exponent;
	int digits = 0;

	at += negative;
	exponent = read_digits(&at, end, &mantissa, &digits);
	if (at < end && *at == '.') {
		int before = digits;

		at++;
		exponent += read_digits(&at, end, &mantissa, &digits);
		exponent -= digits - before;
	}
	if (!digits || !read_exponent(at, end, &exponent))
		return false;
	value = (double) mantissa;
	if (exponent < 0)
		value /= pow(10, -exponent);
	else if (value > 0)
		value *= pow(10, exponent);
	*out = negative ? -value : value;
	return isfinite(value);
}

/* Exactly count numbers between commas, each within [min, max]. */
static bool read_doubles(const char *at, const char *end, double min,
			 double max, struct numbers *out)
{
	for (int i = 0; i < out->count; i++) {
		const char *comma = memchr(at, ',', (size_t) (end - at));
		bool last = i == out->count - 1;
		const char *stop = comma && !last ? comma : end;
		double *number = &out->value[i];

		if ((!comma && !last) ||
		    !read_double(at, (size_t) (stop - at), number) ||
		    *number < min || *number > max)
			return false;
		at = stop + 1;
	}
	return true;
}

int plx_field_doubles(const char *text, const char *key, double min, double max,
		      double *out, int count, struct plx_error *err)
{
	struct numbers read = { .count = count };
	size_t length = 0;
	const char *value = find(text, key, &length);

	assert(count > 0 && count <= NUMBERS_MAX);
	if (!value)
		return 0;
	if (!read_doubles(value, value + length, min, max, &read))
		return plx_fail(err, "%s: want %d number%s from %g to %g", key,
				count, count == 1 ? "" : "s", min, max);
	memcpy(out, read.value, (size_t) count * sizeof(*out));
	return 1;
}
