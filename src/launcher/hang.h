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

#define PLX_HANG_AUTO -1 /* as a time-out: from the beats seen so far */
#define PLX_HANG_OFF  0

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

/* They may be silent: they save, wait or leave. */
void plx_hang_end(struct plx_hang *hang);

/*
 * When they hang if nothing is heard until then; 0: never. timeout_s is what
 * the user wants: seconds, PLX_HANG_AUTO or PLX_HANG_OFF. Up to the first step
 * it is 600 s at least: large states are read, kernels compiled.
 */
double plx_hang_due_s(const struct plx_hang *hang, double timeout_s);

/*
 * When their silence is so unusual that somebody should look whether all nodes
 * are there; 0: never.
 */
double plx_hang_odd_s(const struct plx_hang *hang);

#endif
