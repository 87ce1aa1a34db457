/* SPDX-License-Identifier: GPL-2.0-or-later */
/* keys.h - what a terminal sends, as keys */
#ifndef PLX_REPORT_KEYS_H
#define PLX_REPORT_KEYS_H

#include <stdbool.h>
#include <stddef.h>

/* Below 256: a byte, as itself. */
enum plx_key {
	PLX_KEY_ESCAPE = 27,
	PLX_KEY_NONE = 256, /* a sequence that means nothing here */
	PLX_KEY_ENTER,
	PLX_KEY_BACKSPACE,
	PLX_KEY_UP,
	PLX_KEY_DOWN,
	PLX_KEY_PAGE_UP,
	PLX_KEY_PAGE_DOWN,
	PLX_KEY_FIRST,
	PLX_KEY_END,
};

/*
 * Take one key: the bytes it is made of. 0: the rest of a sequence is still
 * to come; with `last`, no more will come, and a lone escape is one.
 */
size_t plx_key_take(const char *bytes, size_t count, bool last,
		    enum plx_key *key);

#endif
