/* SPDX-License-Identifier: MIT */
/* say.c - what a run tells its user, and what kind of error it had */
#include <config.h>

#include <stdarg.h>
#include <stdio.h>

#include "agent/state/say.h"

void plx_say(const struct pollux *p, const char *fmt, ...)
{
	char text[512];
	va_list args;

	if (p->config.quiet || (p->coll && p->coll->rank != 0))
		return;
	va_start(args, fmt);
	vsnprintf(text, sizeof(text), fmt, args);
	va_end(args);
	fprintf(stderr, "pollux: %s\n", text);
}

int plx_fault(struct pollux *p, enum pollux_status code)
{
	if (p->code == POLLUX_OK)
		p->code = code;
	return -1;
}
