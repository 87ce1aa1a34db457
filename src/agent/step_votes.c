/* SPDX-License-Identifier: MIT */
/*
 * step_votes.c - the numbers that travel behind the gradient
 *
 * Ranks agree on what happens between steps without messages of their own:
 * each appends what it has to say to the gradient, whose sum all receive. The
 * wishes are acted upon after the commit of that step, never inside one.
 */
#include <config.h>

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "agent/agent.h"
#include "agent/handover.h"
#include "agent/save.h"

enum extra {
	EXTRA_PARTS,   /* passes with samples */
	EXTRA_LOSS,    /* sum over samples */
	EXTRA_SAMPLES, /* to be sure that all agree on the step */
	EXTRA_FULL,    /* ranks with a pass that did not fit into memory */
	EXTRA_SAVE,    /* ranks whose program wants a checkpoint */
	EXTRA_HOLD,    /* ranks that hold */
	EXTRA_UNEQUAL, /* ranks that brought another size of the gradient, */
	EXTRA_UNEQUAL_RANK, /* sum of their numbers, and ... */
	EXTRA_UNEQUAL_N,    /* ... of the sizes: two numbers */
	EXTRA_UNEQUAL_REST,
	EXTRA_BAD,     /* ranks whose program has seen what is not finite */
	EXTRA_TIGHT,   /* ranks whose GPU has no room for a second one */
	EXTRA_CRAMPED, /* ... no more than when a pass did not fit */
	EXTRA_WISHES,  /* rank 0's, as are the next three */
	EXTRA_PER_GPU, /* of the next step; below 2^24, so exact */
	EXTRA_ACCUM,
	EXTRA_WATCH, /* how often the noise is looked at */
	EXTRA_SQR,   /* squared norms: two numbers a group */
};

_Static_assert(EXTRA_SQR + 2 * POLLUX_GROUPS_MAX == PLX_EXTRAS_MAX,
	       "room for all");

/*
 * Two floats carry a double: the first has 12 bits, so that the sum of as many
 * as 4096 like it is exact, the second what is left.
 */
#define HIGH_BITS 12

/* Steps may be shorter than it takes to ask what others want of us. */
#define ASK_EVERY_S 0.5e-3

size_t plx_extras_count(const struct pollux *p)
{
	return EXTRA_SQR + 2 * (size_t) p->groups;
}

static void split(double value, float *pair)
{
	int exponent;
	double mantissa = frexp(value, &exponent);

	pair[0] = (float) ldexp(rint(ldexp(mantissa, HIGH_BITS)),
				exponent - HIGH_BITS);
	pair[1] = (float) (value - (double) pair[0]);
}

static unsigned int own_wishes(struct pollux *p)
{
	double now_s = plx_now_s();
	unsigned int wishes;

	if (now_s < p->meter.asked_s + ASK_EVERY_S)
		return 0;
	p->meter.asked_s = now_s;
	wishes = plx_handover_defer(p, plx_reporter_wishes(p->reporter));
	if (plx_save_due(p))
		wishes |= PLX_WISH_PERIODIC;
	return wishes;
}

void plx_extras_write(struct pollux *p, float *extra)
{
	const struct plx_share *own = &p->step.own;

	memset(extra, 0, plx_extras_count(p) * sizeof(*extra));
	extra[EXTRA_PARTS] = (float) own->parts;
	extra[EXTRA_LOSS] = (float) own->loss;
	extra[EXTRA_SAMPLES] = (float) own->samples;
	extra[EXTRA_FULL] = own->full;
	extra[EXTRA_SAVE] = p->save_asked;
	p->save_asked = false;
	extra[EXTRA_HOLD] = p->hold;
	if (own->unequal) {
		extra[EXTRA_UNEQUAL] = 1;
		extra[EXTRA_UNEQUAL_RANK] = (float) p->coll->rank;
		split((double) own->unequal_n, extra + EXTRA_UNEQUAL_N);
	}
	extra[EXTRA_BAD] = own->bad;
	extra[EXTRA_TIGHT] = plx_memory_tight(p);
	extra[EXTRA_CRAMPED] = plx_memory_cramped(p);
	for (int g = 0; g < p->groups; g++)
		split(own->sqr[g], extra + EXTRA_SQR + 2 * g);
	if (p->coll->rank != 0)
		return;
	extra[EXTRA_WISHES] = (float) own_wishes(p);
	extra[EXTRA_PER_GPU] = (float) p->wanted.per_gpu;
	extra[EXTRA_ACCUM] = (float) p->wanted.accum;
	extra[EXTRA_WATCH] = (float) p->watch.advised;
}

/* All ranks know it, so nobody need be ended. */
static int fail_unequal(struct pollux *p, const float *extra)
{
	double n = (double) extra[EXTRA_UNEQUAL_N] +
		   (double) extra[EXTRA_UNEQUAL_REST];
	char who[40];

	p->agreed = true;
	if (extra[EXTRA_UNEQUAL] > 1)
		snprintf(who, sizeof(who), "another size on %.0f ranks",
			 (double) extra[EXTRA_UNEQUAL]);
	else
		snprintf(who, sizeof(who), "%.0f numbers on rank %.0f", n,
			 (double) extra[EXTRA_UNEQUAL_RANK]);
	plx_fail(&p->err, "pollux_reduce() gets %s, want %zu", who, p->step.n);
	return plx_fault(p, POLLUX_EINVAL);
}

int plx_extras_read(struct pollux *p, const float *extra)
{
	struct plx_verdict *all = &p->step.all;
	uint64_t batch = p->step.batch;

	if (extra[EXTRA_UNEQUAL] > 0)
		return fail_unequal(p, extra);
	*all = (struct plx_verdict){
		.full = extra[EXTRA_FULL] > 0,
		.bad = extra[EXTRA_BAD] > 0,
	};
	/* What is given up was not counted either. */
	if (!all->full && (uint64_t) extra[EXTRA_SAMPLES] != batch)
		return plx_fail(&p->err,
				"ranks disagree on the step: %.0f samples, "
				"want %" PRIu64,
				(double) extra[EXTRA_SAMPLES], batch);
	all->parts = (double) extra[EXTRA_PARTS];
	all->loss = (double) extra[EXTRA_LOSS] / (double) batch;
	for (int g = 0; g < p->groups; g++)
		all->sqr_parts[g] = (double) extra[EXTRA_SQR + 2 * g] +
				    (double) extra[EXTRA_SQR + 2 * g + 1];
	p->wishes |= (unsigned int) extra[EXTRA_WISHES];
	p->held = extra[EXTRA_HOLD] > 0;
	plx_memory_heard(p, (int) extra[EXTRA_TIGHT],
			 (int) extra[EXTRA_CRAMPED]);
	if (extra[EXTRA_SAVE] > 0)
		p->wishes |= PLX_WISH_SAVE;
	p->wanted.per_gpu = (int) extra[EXTRA_PER_GPU];
	p->wanted.accum = (int) extra[EXTRA_ACCUM];
	p->watch.wanted = (int) extra[EXTRA_WATCH];
	return 0;
}
