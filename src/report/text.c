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

/*
 * What cannot be seen, ends a line, turns what follows around, or looks like a
 * blank: all of Unicode's format characters (Cf) and separators but ' ', what
 * it lets programs ignore, and what it leaves to private use.
 */
static const struct {
	uint32_t first;
	uint32_t last;
} unseen[] = {
	{ 0xa0, 0xa0 },	      /* no-break space */
	{ 0xad, 0xad },	      /* soft hyphen */
	{ 0x34f, 0x34f },     /* combining grapheme joiner */
	{ 0x600, 0x605 },     /* Arabic signs that other letters sit on */
	{ 0x61c, 0x61c },     /* Arabic letter mark */
	{ 0x6dd, 0x6dd },     /* Arabic end of ayah */
	{ 0x70f, 0x70f },     /* Syriac abbreviation mark */
	{ 0x890, 0x891 },     /* Arabic pound, piastre marks */
	{ 0x8e2, 0x8e2 },     /* Arabic disputed end of ayah */
	{ 0x115f, 0x1160 },   /* Hangul fillers */
	{ 0x1680, 0x1680 },   /* Ogham space */
	{ 0x17b4, 0x17b5 },   /* Khmer inherent vowels */
	{ 0x180b, 0x180f },   /* Mongolian variations, vowel separator */
	{ 0x2000, 0x200f },   /* spaces, zero width; marks of direction */
	{ 0x2028, 0x202f },   /* line ends; embeddings, overrides */
	{ 0x205f, 0x206f },   /* joiners, isolates, deprecated controls */
	{ 0x2800, 0x2800 },   /* Braille blank */
	{ 0x3000, 0x3000 },   /* ideographic space */
	{ 0x3164, 0x3164 },   /* Hangul filler */
	{ 0xe000, 0xf8ff },   /* private use */
	{ 0xfdd0, 0xfdef },   /* no characters */
	{ 0xfe00, 0xfe0f },   /* variation selectors */
	{ 0xfeff, 0xfeff },   /* byte order mark */
	{ 0xffa0, 0xffa0 },   /* half-width Hangul filler */
	{ 0xfff0, 0xfffb },   /* reserved; annotations */
	{ 0x110bd, 0x110bd }, /* Kaithi number signs */
	{ 0x110cd, 0x110cd },  { 0x13430, 0x1343f }, /* Egyptian joiners */
	{ 0x1bca0, 0x1bca3 },			     /* shorthand controls */
	{ 0x1d173, 0x1d17a },			     /* musical controls */
	{ 0x40000, 0x10ffff }, /* nothing yet; tags, variations; private use */
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
	return (code & 0xfffe) == 0xfffe; /* no characters */
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
