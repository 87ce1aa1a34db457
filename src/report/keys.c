/* SPDX-License-Identifier: GPL-2.0-or-later */
/* keys.c - what a terminal sends, as keys (keys.h) */

#include <string.h>

#include "report/keys.h"

#define SEQUENCE_MAX 16 /* bytes; a longer one is none */

/* What follows ESC [ or ESC O, of VT100 and its descendants. */
static const struct {
	const char *rest;
	enum plx_key key;
} sequences[] = {
	{ "A", PLX_KEY_UP },	   { "B", PLX_KEY_DOWN },
	{ "H", PLX_KEY_FIRST },	   { "F", PLX_KEY_END },
	{ "1~", PLX_KEY_FIRST },   { "7~", PLX_KEY_FIRST },
	{ "4~", PLX_KEY_END },	   { "8~", PLX_KEY_END },
	{ "5~", PLX_KEY_PAGE_UP }, { "6~", PLX_KEY_PAGE_DOWN },
	{ "M", PLX_KEY_ENTER },
};

static enum plx_key name(const char *rest, size_t length)
{
	for (size_t i = 0; i < sizeof(sequences) / sizeof(sequences[0]); i++) {
		if (strlen(sequences[i].rest) == length &&
		    !memcmp(sequences[i].rest, rest, length))
			return sequences[i].key;
	}
	return PLX_KEY_NONE;
}

/* It ends with the first byte from '@' on. */
static size_t take_sequence(const char *bytes, size_t count, bool last,
			    enum plx_key *key)
{
	for (size_t i = 2; i < count && i < SEQUENCE_MAX; i++) {
		if (bytes[i] < '@' || bytes[i] > '~')
			continue;
		*key = name(bytes + 2, i - 1);
		return i + 1;
	}
	if (count < SEQUENCE_MAX && !last)
		return 0;
	*key = PLX_KEY_NONE;
	return count < SEQUENCE_MAX ? count : SEQUENCE_MAX;
}

size_t plx_key_take(const char *bytes, size_t count, bool last,
		    enum plx_key *key)
{
	if (count == 0)
		return 0;
	if (bytes[0] == PLX_KEY_ESCAPE) {
		if (count == 1 && !last)
			return 0;
		if (count > 1 && (bytes[1] == '[' || bytes[1] == 'O'))
			return take_sequence(bytes, count, last, key);
		*key = PLX_KEY_ESCAPE;
		return 1;
	}
	if (bytes[0] == '\r' || bytes[0] == '\n')
		*key = PLX_KEY_ENTER;
	else if (bytes[0] == '\b' || bytes[0] == 0x7f)
		*key = PLX_KEY_BACKSPACE;
	else
		*key = (enum plx_key)(unsigned char) bytes[0];
	return 1;
}
