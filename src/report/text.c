/* SPDX-License-Identifier: GPL-2.0-or-later */
/* text.c - see text.h */

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "report/text.h"

char *plx_text_duration(int64_t seconds, char *text, size_t size)
{
	if (seconds < 60)
		snprintf(text, size, "%" PRId64 "s", seconds);
	else if (seconds < 3600)
		snprintf(text, size, "%" PRId64 "m%02ds", seconds / 60,
			 (int) (seconds % 60));
	else if (seconds < 86400)
		snprintf(text, size, "%" PRId64 "h%02dm", seconds / 3600,
			 (int) (seconds % 3600 / 60));
	else
		snprintf(text, size, "%" PRId64 "d%02dh", seconds / 86400,
			 (int) (seconds % 86400 / 3600));
	return text;
}

/* What cannot be seen, ends a line, or turns what follows around. */
static const struct {
	uint32_t first;
	uint32_t last;
} unseen[] = {
	{ 0x061c, 0x061c },   /* Arabic letter mark */
	{ 0x180e, 0x180e },   /* Mongolian vowel separator */
	{ 0x200b, 0x200f },   /* zero width; left-to-right and -left marks */
	{ 0x2028, 0x202e },   /* line ends; embeddings, overrides */
	{ 0x2060, 0x206f },   /* joiners, isolates, deprecated controls */
	{ 0xfeff, 0xfeff },   /* byte order mark */
	{ 0xfff9, 0xfffb },   /* annotations */
	{ 0xe0000, 0xe0fff }, /* tags */
};

/* Of a character that is well formed. */
static bool is_unseen(const unsigned char *u, size_t length)
{
	uint32_t code = u[0] & (0xff >> (length + 1));

	for (size_t i = 1; i < length; i++)
		code = code << 6 | (u[i] & 0x3f);
	for (size_t i = 0; i < sizeof(unseen) / sizeof(unseen[0]); i++) {
		if (code >= unseen[i].first && code <= unseen[i].last)
			return true;
	}
	return false;
}

/* Bytes of the UTF-8 character at s, or 0 when it is none, or unprintable. */
static size_t character(const char *s)
{
	const unsigned char *u = (const unsigned char *) s;
	size_t length;

	if (*u < 0x80)
		return *u >= 0x20 && *u != 0x7f;
	if (*u >= 0xc2 && *u < 0xe0)
		length = 2;
	else if (*u >= 0xe0 && *u < 0xf0)
		length = 3;
	else if (*u >= 0xf0 && *u < 0xf5)
		length = 4;
	else
		return 0;
	for (size_t i = 1; i < length; i++) {
		if ((u[i] & 0xc0) != 0x80)
			return 0;
	}
	/* Overlong forms, surrogates, over 10FFFF; C1 control characters. */
	if ((*u == 0xe0 && u[1] < 0xa0) || (*u == 0xed && u[1] > 0x9f) ||
	    (*u == 0xf0 && u[1] < 0x90) || (*u == 0xf4 && u[1] > 0x8f) ||
	    (*u == 0xc2 && u[1] < 0xa0))
		return 0;
	if (is_unseen(u, length))
		return 0;
	return length;
}

char *plx_text_clean(const char *from, char *text, size_t size)
{
	size_t used = 0;
	size_t length;

	while (*from && used + 1 < size) {
		length = character(from);
		if (length == 0) {
			text[used++] = '?';
			from++;
			continue;
		}
		if (used + length >= size)
			break;
		memcpy(text + used, from, length);
		used += length;
		from += length;
	}
	text[used] = '\0';
	return text;
}
