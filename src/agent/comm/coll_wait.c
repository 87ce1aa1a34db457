/* SPDX-License-Identifier: MIT */
/*
 * coll_wait.c - how long a rank waits for others, and what it does meanwhile
 *
 * There may be more ranks than cores, so the CPU is given away soon; and a
 * sum may take a few microseconds only, so the clock is read seldom.
 */
#include <config.h>

#include <inttypes.h>
#include <sched.h>
#include <time.h>

#include "agent/comm/coll_wait.h"
#include "agent/comm/pulse.h"
#include "wire/now.h"
#include "wire/rank_file.h"

#define SPINS	       64    /* tests before the CPU is given away */
#define TESTS_PER_LOOK 64    /* ... between two looks at the clock */
#define IDLE_AFTER_S   0.002 /* of spinning, an idle wait falls asleep, */
#define REPORT_AFTER_S 0.5
#define NAP_MIN_NS     50000   /* first for so long, */
#define NAP_MAX_NS     2000000 /* then for twice as long, up to this */

static int missing(const struct plx_wait *w, const struct plx_rank_word *who,
		   struct plx_error *err)
{
	return plx_fail(err,
			"%s: rank %d on %.100s has ended its run in the middle "
			"of the training, after step %" PRIu64,
			w->what, who->rank, who->why, who->step);
}

static int look_at_clock(struct plx_wait *w, struct plx_error *err)
{
	const struct plx_coll *c = w->coll;
	struct plx_rank_word who;
	double now = plx_now_s();

	if (!w->begin_s)
		w->begin_s = now;
	w->waited_s = now - w->begin_s;
	if (w->waited_s > REPORT_AFTER_S) {
		plx_pulse_waits(c->pulser);
		if (plx_pulse_misses(c->pulser, &who))
			return missing(w, &who, err);
	}
	if (c->leaving && *c->leaving) {
		if (!w->leaving_s)
			w->leaving_s = now;
		if (now - w->leaving_s > PLX_COLL_GRACE_S)
			return plx_fail(err,
					"%s: rank %d of %d is told to leave "
					"while it waits for others",
					w->what, c->rank, c->ranks);
	}
	if (w->idle || c->timeout_s <= 0 || w->waited_s <= c->timeout_s)
		return 0;
	if (plx_pulse_others_busy(c->pulser)) {
		w->begin_s = now;
		return 0;
	}
	return plx_fail(err,
			"%s: rank %d of %d waits for others, which do not "
			"answer for %g s: lost, or they hang",
			w->what, c->rank, c->ranks, c->timeout_s);
}

int plx_wait_more(struct plx_wait *w, struct plx_error *err)
{
	const struct timespec nap = { .tv_nsec = w->nap_ns };

	if (++w->tests < SPINS)
		return 0;
	if (!w->idle || w->waited_s < IDLE_AFTER_S) {
		sched_yield();
		return w->tests % TESTS_PER_LOOK ? 0 : look_at_clock(w, err);
	}
	if (w->nap_ns)
		nanosleep(&nap, NULL);
	if (w->nap_ns < NAP_MAX_NS)
		w->nap_ns = w->nap_ns ? 2 * w->nap_ns : NAP_MIN_NS;
	return look_at_clock(w, err);
}
