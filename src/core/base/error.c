/* SPDX-License-Identifier: MIT */
/* error.c - one sentence about what went wrong */

#include <stdarg.h>
#include <stdio.h>

#include "core/base/error.h"

/* A text from elsewhere must neither end the line nor move the cursor. */
static void make_plain(char *text)
{
	for (; *text; text++) {
		if ((unsigned char) *text < ' ' || *text == 127)
			*text = '?';
	}
}

static void say(struct plx_error *err, int kind, const char *fmt, va_list args)
{
	vsnprintf(err->text, sizeof(err->text), fmt, args);
	make_plain(err->text);
	err->kind = kind;
}

int plx_fail(struct plx_error *err, const char *fmt, ...)
{
	va_list args;

	if (!err)
		return -1;
	va_start(args, fmt);
	say(err, 0, fmt, args);
	va_end(args);
	return -1;
}

int plx_fail_as(struct plx_error *err, int kind, const char *fmt, ...)
{
	va_list args;

	if (!err)
		return -1;
	va_start(args, fmt);
	say(err, kind, fmt, args);
	va_end(args);
	return -1;
}
