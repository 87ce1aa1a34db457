/* SPDX-License-Identifier: MIT */
/*
 * moldable.h - moldable jobs: when another shape is worth a requeue
 *
 * A job submitted with mode=requeue cannot be resized while it runs. It starts
 * in the shape that is best then, and gets another by being requeued: it loses
 * what it did since its last checkpoint, and the time that a start takes. With
 * R seconds of training left as it runs now, a shape q times as fast saves
 * R - R / q of them and costs restart + loss / q; the rule is
 *
 *	saved >= PLX_MOLDABLE_MARGIN * cost
 *
 * Besides, whatever is saved: not without a checkpoint known to be recent, not
 * shortly before its end, not more often than the administrator says. For
 * others that wait (PLX_MOLDABLE_FOR_OTHERS) the first two alone count, and
 *that it is not just moved within a minute. Pure.
 */
#ifndef PLX_CORE_MOLDABLE_H
#define PLX_CORE_MOLDABLE_H

#include <stdbool.h>
#include <stddef.h>

#include "core/problem/problem.h"

/* What a start costs where it is not told, seconds. */
#define PLX_MOLDABLE_RESTART_S 30.0
/* What is younger may be lost without asking: a checkpoint, or the run. */
#define PLX_MOLDABLE_RECENT_S 60.0
/* Before its end a job is left alone. */
#define PLX_MOLDABLE_LAST_S 300.0
/* Taken to be left of a job that does not tell, at least; and what it ran. */
#define PLX_MOLDABLE_LEFT_S 1800.0
/* So many times its cost must be saved. */
#define PLX_MOLDABLE_MARGIN 2.0

/* A running moldable job; all in seconds. */
struct plx_moldable {
	double age_s;	    /* of this run */
	double requeued_s;  /* since it last got a shape so; INFINITY: never */
	double saved_s;	    /* since its last checkpoint; negative: untold */
	double may_lose_s;  /* as its user says; 0: untold */
	double ends_s;	    /* until its time limit */
	double left_s;	    /* of training as it runs now; 0: untold */
	double restart_s;   /* that a start takes */
	double least_gap_s; /* between requeues */
};

enum plx_moldable_answer {
	PLX_MOLDABLE_YES,
	PLX_MOLDABLE_UNSAVED, /* nobody knows that its checkpoint is recent */
	PLX_MOLDABLE_ENDS,    /* too soon */
	PLX_MOLDABLE_AGAIN,   /* it was requeued lately */
	PLX_MOLDABLE_LITTLE,  /* too little is saved */
};

enum plx_moldable_reason {
	PLX_MOLDABLE_FOR_ITSELF,
	PLX_MOLDABLE_FOR_OTHERS, /* who wait; or its nodes are to be left */
};

/* Training that a requeue loses at most, seconds: since the last checkpoint. */
double plx_moldable_loss(const struct plx_moldable *moldable);

/* May it be requeued at all? YES, UNSAVED or ENDS. */
enum plx_moldable_answer plx_moldable_may(const struct plx_moldable *moldable);

/* What a shape `ratio` times as fast saves, and what it costs, seconds. */
double plx_moldable_saved(const struct plx_moldable *moldable, double ratio);
double plx_moldable_cost(const struct plx_moldable *moldable, double ratio);

/* Is it to be requeued for a shape `ratio` times as fast as it is now? */
enum plx_moldable_answer plx_moldable_judge(const struct plx_moldable *moldable,
					    double ratio,
					    enum plx_moldable_reason reason);

/* Why not, or for YES why, for the job's record. */
void plx_moldable_text(const struct plx_moldable *moldable, double ratio,
		       enum plx_moldable_answer answer, char *text,
		       size_t size);

/*
 * A job that nobody has measured is taken to scale like this, cautiously: a
 * twentieth of its work does not get faster with GPUs, and on several nodes a
 * step takes a fiftieth of its time on one GPU longer. It becomes profiled, up
 * to its max_gpus.
 */
void plx_moldable_assume(struct plx_job *job);

#endif
