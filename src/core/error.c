/* SPDX-License-Identifier: MIT */
/* error.c - one sentence about what went wrong */

#include <stdarg.h>
#include <stdio.h>

#include "core/error.h"

int plx_fail(struct plx_error *err, const char *fmt, ...)
{
	va_list args;

	if (!err)
		return -1;
	va_start(args, fmt);
	vsnprintf(err->text, sizeof(err->text), fmt, args);
	va_end(args);
	return -1;
}
