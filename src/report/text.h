/* SPDX-License-Identifier: GPL-2.0-or-later */
/* text.h - how reports write names and times */
#ifndef PLX_REPORT_TEXT_H
#define PLX_REPORT_TEXT_H

#include <stddef.h>
#include <stdint.h>

/* "7s", "1m56s", "2h03m", "3d04h". Returns text. */
char *plx_text_duration(int64_t seconds, char *text, size_t size);

/*
 * A user's text fit to print: control characters, characters that cannot be
 * seen, look like a blank or turn the text around, those of private use, and
 * bytes that are not UTF-8 become '?', what does not fit is cut. Returns text.
 */
char *plx_text_clean(const char *from, char *text, size_t size);

#endif
