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
#include <stdint.h>

#include "core/base/error.h"
#include "core/records/hint.h"

struct plx_reporter;

/* What the launcher wants, one bit each. */
enum plx_wish {
	PLX_WISH_STOP = 1,    /* save and leave; stays */
	PLX_WISH_GONE = 2,    /* it went away, nobody would restart us; stays
			       */
	PLX_WISH_SAVE = 4,    /* and train on */
	PLX_WISH_PREPARE = 8, /* for a handover */
	PLX_WISH_HAND = 16,   /* the state over, then wait for ... */
	PLX_WISH_LEAVE = 32,  /* ... this, exit code 0 */
	PLX_WISH_RESUME = 64, /* ... or this, train on */
	PLX_WISH_GO = 128,    /* started ahead: it is our turn */
	/* Not the launcher's, but rank 0's: */
	PLX_WISH_PERIODIC = 256, /* a checkpoint is due */
	PLX_WISH_PROFILE = 512	 /* hear what was measured */
};

/* Connect to POLLUX_SOCKET; *reporter is NULL when that is not set. */
int plx_reporter_create(struct plx_reporter **reporter, struct plx_error *err);
void plx_reporter_destroy(struct plx_reporter *reporter);

/* Its socket, to see whether it closes; -1: none. */
int plx_reporter_fd(const struct plx_reporter *reporter);

/*
 * Wishes that came in since the last call, and those that stay. Never blocks.
 */
unsigned int plx_reporter_wishes(struct plx_reporter *reporter);

/*
 * Wait at most timeout_s for one of these, or until the launcher is gone.
 * Returns those that came, which then are no longer new; 0: it is late.
 */
unsigned int plx_reporter_wait(struct plx_reporter *reporter, unsigned int any,
			       double timeout_s);

/*
 * Whose state PLX_WISH_GO said to take; 0: that of a checkpoint. The number
 * that PLX_WISH_RESUME gives this generation, 0: that which it has.
 */
long plx_reporter_source(const struct plx_reporter *reporter);

/* The training lives: at most one line a second. */
void plx_reporter_beat(struct plx_reporter *reporter, uint64_t step,
		       double now_s);

/* The same; it was no step that took so long. */
void plx_reporter_busy(struct plx_reporter *reporter, uint64_t step,
		       double now_s);

/* Send one line. A launcher that went away shows in its wishes. */
void plx_reporter_say(struct plx_reporter *reporter, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

/* Would a hint be sent now? */
bool plx_reporter_hint_due(const struct plx_reporter *reporter, double now_s);

/* Send a hint, at most one a second: others are dropped. */
void plx_reporter_hint(struct plx_reporter *reporter,
		       const struct plx_hint *hint, double now_s);

#endif
