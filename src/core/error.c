/* SPDX-License-Identifier: MIT */
/* error.c - one sentence about what went wrong */

#include <stdarg.h>
#include <stdio.h>

#include "core/error.h"

/* A text from elsewhere must neither end the line nor move the cursor. */
static void make_plain(char *text)
{
	for (; *text; text++) {
		if ((unsigned char) *text < ' ' || *text == 127)
			*text = '?';
	}
}

int plx_fail(struct plx_error *err, const char *fmt, ...)
{
	va_list args;

	if (!err)
		return -1;
	va_start(args, fmt);
	vsnprintf(err->text, sizeof(err->text), fmt, args);
	va_end(args);
	make_plain(err->text);
	return -1;
}
