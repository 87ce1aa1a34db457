/* SPDX-License-Identifier: MIT */
/*
 * explanation.h - why a running job has what it has, in one line at any time
 *
 * plan.h makes a sentence for every job of a plan. Here it is joined with what
 * the plan does not know: that the job is left alone for now, and why, or was
 * refused what the plan wants.
 */
#ifndef PLX_CORE_EXPLANATION_H
#define PLX_CORE_EXPLANATION_H

#include <stdbool.h>
#include <stddef.h>

/* Why a job is left as it is whatever a plan says. */
enum plx_hold {
	PLX_HOLD_NONE,
	PLX_HOLD_OFF,	   /* the administrator wants no resizes */
	PLX_HOLD_SILENT,   /* no launcher has spoken, or in vain */
	PLX_HOLD_NODES,	   /* slurmctld has begun, and has not heard them all */
	PLX_HOLD_BOUND,	   /* suspended, held, or for good; as `refused` says */
	PLX_HOLD_STARTING, /* its ranks are */
	PLX_HOLD_REFUSED,  /* lately */
	PLX_HOLD_DONE,	   /* its training is */
	PLX_HOLD_MOLDABLE, /* not worth a requeue, as `refused` says */
	PLX_HOLDS,
};

struct plx_explanation {
	int gpus; /* it has now */
	enum plx_hold hold;
	bool changes;	  /* the plan has another shape for it */
	const char *plan; /* the plan's sentence; NULL: no plan */
	/* The reason of the last refusal, or what `hold` leaves open; or "". */
	const char *refused;
};

/* The line; cut where it does not fit. */
void plx_explanation_text(const struct plx_explanation *explanation, char *text,
			  size_t size);

/*
 * Is `now` worth writing, where `told` is read and was written ago_s before?
 * Another meaning is after 5 s, other figures alone after a minute.
 */
bool plx_explanation_is_news(const char *told, const char *now, double ago_s);

/* Do they say the same but for figures? The first number counts: GPUs held. */
bool plx_explanation_same(const char *a, const char *b);

#endif
