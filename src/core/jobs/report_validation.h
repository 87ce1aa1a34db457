/* SPDX-License-Identifier: MIT */
/*
 * report_validation.h - are a job's reports of itself true?
 *
 * Model, noise, samples left and restart cost are the job's own words, and
 * decide what it gets. Each claim is held against the ones before and against
 * what was seen: how long the job trained, on how many GPUs, how long its
 * resizes took. Each contradiction is a strike, which decays after an hour;
 * with two nothing is believed. docs/security.md says what each costs the job,
 * and what false reports can gain at most. Pure; a zeroed plx_validation has
 * no strike.
 */
#ifndef PLX_CORE_REPORT_VALIDATION_H
#define PLX_CORE_REPORT_VALIDATION_H

#include <stdbool.h>

#include "core/records/hint.h"
#include "core/problem/problem.h"

enum plx_strikes {
	PLX_STRIKES_NONE,
	PLX_STRIKES_ONE, /* who have less left go first; it teaches nobody */
	PLX_STRIKES_TWO, /* nothing it says counts: as one that was never
			    measured */
};

/* Seconds of training after which what was promised must be seen. */
#define PLX_VALIDATION_WINDOW_S 300.0
/* What must be seen of it: models are wrong, machines are shared. */
#define PLX_VALIDATION_SHARE 0.25
/*
 * After so long without a contradiction a job is believed one step more; twice
 * as long for each time that it was.
 */
#define PLX_VALIDATION_DECAY_S 3600.0
/*
 * Restart cost believed without having seen a resize; after so long ranks that
 * were started train.
 */
#define PLX_VALIDATION_RESTART_S 120.0
/* And how many times that of the longest resize seen. */
#define PLX_VALIDATION_RESTARTS 4.0

/* What a job says, and what is known of it then. */
struct plx_claim {
	double now_s;		/* of a clock that never jumps, > 0 */
	struct plx_shape shape; /* that it holds; no GPUs: parked */
	double shape_s;		/* for which it has had that */
	bool runs;		/* it could train; else it is not its doing */
	bool resized;		/* it is in the middle of that */
	bool training;		/* it says so; see plx_validation_trains() */
	const struct plx_hint *hint;
};

struct plx_validation {
	enum plx_strikes strikes;
	const char *why; /* of the last strike, a sentence; NULL: none */
	/* The rest is report_validation.c's own. */
	double changed_s; /* last contradiction, or when one decayed */
	int decays;
	double last_s; /* last claim; 0: none yet */
	bool trained;  /* then */
	double left;   /* last told; 0: never */
	double window_left;
	double window_s; /* trained since */
	double due;	 /* samples promised for that, by its own model */
	double slow_s;	 /* it has measured far less than its model says */
	double noise;	 /* scale, relative to the base batch */
	double speed;	 /* measured, a GPU; 0: not told */
	double moving_s; /* since when it does not train; 0: it does */
	double pause_s;	 /* longest seen */
};

/*
 * Does it train, as far as the scheduler can tell? Whatever the job says: it
 * has had GPUs for long enough to have started on them, and nobody resizes it.
 * Before that its word is taken.
 */
bool plx_validation_trains(const struct plx_claim *claim);

/* It did what no honest job does: one step down. True when that is new. */
bool plx_validation_strike(struct plx_validation *validation, double now_s,
			   const char *why);

/*
 * Take the next claim; hint->job is valid. True when the job is believed less
 * or more than before: see strikes and why.
 */
bool plx_validation_check(struct plx_validation *validation,
			  const struct plx_claim *claim);

/*
 * Make of the job in a problem what of its claims is believed; most_gpus is
 * what it was seen to hold at most.
 */
void plx_validation_apply(const struct plx_validation *validation,
			  int most_gpus, struct plx_job *job);

#endif
