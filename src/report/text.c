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

/* U+200E-F, 2028-E, 2066-9: they end lines, or turn what follows around. */
static bool turns(const unsigned char *u)
{
	if (u[0] != 0xe2)
		return false;
	return (u[1] == 0x80 && ((u[2] >= 0x8e && u[2] <= 0x8f) ||
				 (u[2] >= 0xa8 && u[2] <= 0xae))) ||
	       (u[1] == 0x81 && u[2] >= 0xa6 && u[2] <= 0xa9);
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
	if (length == 3 && turns(u))
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
