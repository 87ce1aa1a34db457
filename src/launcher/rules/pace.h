/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * pace.h - how often the hint is written into the job's record
 *
 * slurmctld logs every change of a comment, so a job may change it some
 * hundred times a day and no more. A hint is written as soon as it tells
 * something else than the one before, and otherwise now and then. Each of these
 * writes costs a token; there is a small stock of tokens, and a new one every
 * minute and a half. Whatever else is in a status (its phase, an
 * acknowledgement) is written at once, with the newest hint, and costs nothing.
 * No clock.
 */
#ifndef PLX_LAUNCHER_PACE_H
#define PLX_LAUNCHER_PACE_H

#include <stdbool.h>

#include "core/records/hint.h"

#define PLX_PACE_TOKENS	 20   /* in stock at most, and at first */
#define PLX_PACE_TOKEN_S 90.0 /* until there is one more */
/* After a start or a resize there are so many at least. */
#define PLX_PACE_ANEW 5
/* A hint that tells nothing new is written so often, while the stock is half
 * full. */
#define PLX_PACE_ROUTINE_S 30.0
/* A change by this part of it is something new. */
#define PLX_PACE_CHANGE 0.2
/* Writes of hints alone in so many seconds, at most, without a resize. */
#define PLX_PACE_MOST(seconds) (PLX_PACE_TOKENS + (seconds) / PLX_PACE_TOKEN_S)

struct plx_pace {
	double tokens;
	double counted_s;     /* when they were counted last; 0: never */
	double written_s;     /* the last status */
	struct plx_hint hint; /* in it ... */
	bool has_hint;	      /* ... if it had one */
};

/* Is this hint to be written now? Then its token is spent. */
bool plx_pace_due(struct plx_pace *pace, const struct plx_hint *hint,
		  double now_s);

/* A status was written, for whatever reason; hint NULL: without one. */
void plx_pace_written(struct plx_pace *pace, const struct plx_hint *hint,
		      double now_s);

/* Ranks train anew: what they measure is news. */
void plx_pace_anew(struct plx_pace *pace);

#endif
