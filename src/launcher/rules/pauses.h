/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * pauses.h - how long training stood still for a resize, and why
 *
 * Pure. A pause lasts from the end of the last iteration before a resize to
 * the first pass of training after it.
 */
#ifndef PLX_LAUNCHER_PAUSES_H
#define PLX_LAUNCHER_PAUSES_H

#include "core/base/error.h"

/* Moments of one resize, seconds of one clock; 0: did not happen. */
struct plx_marks {
	double offered_s;  /* acknowledged, ranks trained on */
	double asked_s;	   /* rank 0 was told to stop, or to hand over */
	double last_s;	   /* last iteration ended */
	double saved_s;	   /* rank 0 said so */
	double left_s;	   /* srun was gone */
	double acked_s;	   /* slurmctld has our acknowledgement */
	double answered_s; /* we saw its answer */
	double started_s;  /* srun was started again */
	double hello_s;	   /* all ranks know each other */
	double ready_s;	   /* they wait for their turn */
	double go_s;	   /* it has come */
	double first_s;	   /* the first pass of training was begun */
};

enum plx_pause_part {
	PLX_PART_OVERLAP,    /* offered -> answer seen; these three */
	PLX_PART_WARM,	     /* ranks started ahead -> ready; are not */
	PLX_PART_STOP,	     /* asked -> last iteration; in the pause */
	PLX_PART_SAVE,	     /* last iteration -> saved */
	PLX_PART_LEAVE,	     /* saved -> ranks gone */
	PLX_PART_ACK,	     /* gone -> acknowledged */
	PLX_PART_RESIZE,     /* acknowledged -> answer seen */
	PLX_PART_START,	     /* answer seen -> hello */
	PLX_PART_GO,	     /* saved -> the next ranks told to go */
	PLX_PART_FIRST_STEP, /* hello, or go -> first pass */
	PLX_PARTS,
};

struct plx_pause {
	double total_s;
	double part_s[PLX_PARTS];
};

const char *plx_part_name(enum plx_pause_part part); /* "stop_s" */

/*
 * The pause these marks tell of; missing marks take the time of the one
 * before, so the parts from PLX_PART_SAVE on always add up to the total.
 */
struct plx_pause plx_pause_of(const struct plx_marks *marks);

/* Every pause so far. */
struct plx_pauses {
	double *total_s;
	int count;
};

int plx_pauses_add(struct plx_pauses *pauses, double total_s,
		   struct plx_error *err);
double plx_pauses_median(const struct plx_pauses *pauses); /* 0 of none */
double plx_pauses_worst(const struct plx_pauses *pauses);  /* 0 of none */
void plx_pauses_release(struct plx_pauses *pauses);

#endif
