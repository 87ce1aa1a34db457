/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * hang.h - since when has the training not moved, and is that too long?
 *
 * Rank 0 sends a beat at most once a second, when a step is committed. No step
 * is committed while any rank hangs. Pure: time is an argument, in seconds.
 */
#ifndef PLX_LAUNCHER_HANG_H
#define PLX_LAUNCHER_HANG_H

#include <stdbool.h>

#include "wire/rank_file.h"

#define PLX_HANG_AUTO -1 /* as a time-out: from the beats seen so far */
#define PLX_HANG_OFF  0

/* Training is over: to evaluate, export and leave there is so long. */
#define PLX_HANG_DONE_S 1800.0

struct plx_hang {
	double beat_s;	  /* last sign of life, 0: none is awaited */
	bool beats;	  /* it was a step, not just a start */
	double longest_s; /* between two beats, over all starts */
	double usual_s;	  /* about as long as they were of late, at most */
};

/* Ranks have met, and will now restore and train. */
void plx_hang_begin(struct plx_hang *hang, double now_s);

/* A step was committed. */
void plx_hang_beat(struct plx_hang *hang, double now_s);

/* No step, but a rank is alive and busy otherwise: that is no silence. */
void plx_hang_busy(struct plx_hang *hang, double now_s);

/*
 * Does what a rank tells excuse that no step was committed, where limit_s
 * would be too long for one? It excuses nothing that it waits. While it works
 * on a step it may use its processors for five times as long. Between two
 * steps, as when it validates, it may say nothing for half an hour, and work
 * for four; a program that says itself that it is busy, for ever.
 */
bool plx_hang_excused(const struct plx_pulse *pulse, double limit_s);

/*
 * Does it hold, and its steps go on? limit_s is as in plx_hang_limit_s().
 */
bool plx_hang_holds(const struct plx_pulse *pulse, double limit_s);

/* They may be silent: they save, wait or leave. */
void plx_hang_end(struct plx_hang *hang);

/*
 * When they hang if nothing is heard until then; 0: never. timeout_s is what
 * the user wants: seconds, PLX_HANG_AUTO or PLX_HANG_OFF. Up to the first step
 * it is 600 s at least: large states are read, kernels compiled.
 */
double plx_hang_due_s(const struct plx_hang *hang, double timeout_s);

/* How long no step may be committed; INFINITY: for ever. As above. */
double plx_hang_limit_s(const struct plx_hang *hang, double timeout_s);

/*
 * When their silence is so unusual that somebody should look whether all nodes
 * are there; 0: never.
 */
double plx_hang_odd_s(const struct plx_hang *hang);

#endif
