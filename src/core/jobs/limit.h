/* SPDX-License-Identifier: MIT */
/*
 * limit.h - a job and its time limit
 *
 * Pure. What launcher and scheduler have to agree on: when a job near its
 * limit saves, and whether it is put back into the queue once more.
 */
#ifndef PLX_CORE_LIMIT_H
#define PLX_CORE_LIMIT_H

#include <stdbool.h>
#include <stddef.h>

#include "core/records/hint.h"

/* Seconds before the limit, besides what saving takes. */
#define PLX_LIMIT_MARGIN_S 30
/* Time limits in a row without progress; of a job that tells of none. */
#define PLX_LIMIT_ROUNDS 3
#define PLX_LIMIT_UNTOLD 20

/*
 * Seconds before its limit at which a job saves. want_s: what its launcher
 * says (0: nothing); limit_s: the whole limit, of which this is at most half.
 */
double plx_limit_lead(double want_s, double limit_s);

/* How far it has come since it was put into the queue last. */
enum plx_came {
	PLX_CAME_UNTOLD,
	PLX_CAME_NOWHERE,
	PLX_CAME_FURTHER,
};

/*
 * May a job go into the queue at its limit, once more? *rounds: how often in a
 * row it came no further before; becomes what it is with this one.
 */
bool plx_limit_again(enum plx_came came, int *rounds);

/* Its progress now, against what it was then; both 0 to 1. */
enum plx_came plx_limit_came(double progress, double mark);

/*
 * Will what is left to train not be done in that time, on this shape? False
 * when nobody knows.
 */
bool plx_limit_misses(const struct plx_hint *hint, struct plx_shape shape,
		      double left_s);

/*
 * The same, added to a reason, which has room for size bytes: the job will miss
 * a limit for this shape.
 */
void plx_limit_warn(const struct plx_hint *hint, struct plx_shape shape,
		    double left_s, char *why, size_t size);

#endif
