/* SPDX-License-Identifier: MIT */
/*
 * report.h - rank 0's line to the launcher (docs/resize.md, part 4)
 *
 * A program started without a launcher has no reporter (NULL): every function
 * accepts that and does nothing.
 */
#ifndef PLX_AGENT_REPORT_H
#define PLX_AGENT_REPORT_H

#include <stdbool.h>

#include "core/error.h"
#include "core/hint.h"

struct plx_reporter;

/* What the launcher wants. */
enum plx_wish {
	PLX_WISH_NONE,
	PLX_WISH_STOP, /* save and leave */
	PLX_WISH_GONE, /* it went away: nobody would restart us */
};

/* Connect to POLLUX_SOCKET; *reporter is NULL when that is not set. */
int plx_reporter_create(struct plx_reporter **reporter, struct plx_error *err);
void plx_reporter_destroy(struct plx_reporter *reporter);

/* Look at what came in; never blocks. Stays what it was once it is not NONE. */
enum plx_wish plx_reporter_wish(struct plx_reporter *reporter);

/* Send one line. A launcher that went away shows in plx_reporter_wish(). */
void plx_reporter_say(struct plx_reporter *reporter, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

/* Send a hint, at most one a second: others are dropped. */
void plx_reporter_hint(struct plx_reporter *reporter,
		       const struct plx_hint *hint, double now_s);

#endif
