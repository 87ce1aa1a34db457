/* SPDX-License-Identifier: MIT */
/*
 * excuse.h - more time for a job whose ranks are busy
 *
 * A job that is to be resized has so long to answer. Where its launcher says
 * that a rank is busy (it validates, say) it gets more, out of an allowance
 * that fills again slowly: a job that says so for ever gains next to nothing.
 * Pure; a zeroed plx_excuse has all of its allowance.
 */
#ifndef PLX_CORE_EXCUSE_H
#define PLX_CORE_EXCUSE_H

#include <stdbool.h>

/* Seconds of the allowance that come back with each second. */
#define PLX_EXCUSE_BACK 0.1

struct plx_excuse {
	double spent_s; /* of the allowance */
	double last_s;	/* up to then; 0: never asked for */
};

/*
 * The time to answer is up at now_s, of a clock that never jumps: grant want_s
 * more, or what is left of limit_s. 0: nothing is left.
 */
double plx_excuse_grant(struct plx_excuse *excuse, double now_s, double want_s,
			double limit_s);

/* Pay for time that it has had already: all of it, or false and nothing. */
bool plx_excuse_pay(struct plx_excuse *excuse, double now_s, double had_s,
		    double limit_s);

#endif
