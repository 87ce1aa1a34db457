/* SPDX-License-Identifier: MIT */
/*
 * step_votes.c - votes of the ranks, which travel behind the gradient
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

#include "agent/gradient/memory.h"
#include "agent/gradient/step_votes.h"
#include "agent/state/agent.h"
#include "agent/state/handover.h"
#include "agent/state/save.h"
#include "agent/state/say.h"
#include "wire/now.h"

enum vote {
	VOTE_PARTS,   /* passes with samples */
	VOTE_LOSS,    /* sum over samples */
	VOTE_SAMPLES, /* to be sure that all agree on the step */
	VOTE_FULL,    /* ranks with a pass that did not fit into memory */
	VOTE_SAVE,    /* ranks whose program wants a checkpoint */
	VOTE_HOLD,    /* ranks that hold */
	VOTE_UNEQUAL, /* ranks that brought another size of the gradient, */
	VOTE_UNEQUAL_RANK, /* sum of their numbers, and ... */
	VOTE_UNEQUAL_N,	   /* ... of the sizes: two numbers */
	VOTE_UNEQUAL_REST,
	VOTE_BAD,     /* ranks whose program has seen what is not finite */
	VOTE_TIGHT,   /* ranks whose GPU has no room for a second one */
	VOTE_CRAMPED, /* ... no more than when a pass did not fit */
	VOTE_WISHES,  /* rank 0's, as are the next three */
	VOTE_PER_GPU, /* of the next step; below 2^24, so exact */
	VOTE_ACCUM,
	VOTE_WATCH, /* how often the noise is looked at */
	VOTE_SQR,   /* squared norms: two numbers a group */
};

_Static_assert(VOTE_SQR + 2 * POLLUX_GROUPS_MAX == PLX_STEP_VOTES_MAX,
	       "room for all");

/*
 * Two floats carry a double: the first has 12 bits, so that the sum of as many
 * as 4096 like it is exact, the second what is left.
 */
#define HIGH_BITS 12

/* Steps may be shorter than it takes to ask what others want of us. */
#define ASK_EVERY_S 0.5e-3

size_t plx_step_votes_count(const struct pollux *p)
{
	return VOTE_SQR + 2 * (size_t) p->groups;
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
	if (p->measured)
		wishes |= PLX_WISH_PROFILE;
	p->measured = false;
	return wishes;
}

void plx_step_votes_write(struct pollux *p, float *votes)
{
	const struct plx_share *own = &p->step.own;

	memset(votes, 0, plx_step_votes_count(p) * sizeof(*votes));
	votes[VOTE_PARTS] = (float) own->parts;
	votes[VOTE_LOSS] = (float) own->loss;
	votes[VOTE_SAMPLES] = (float) own->samples;
	votes[VOTE_FULL] = own->full;
	votes[VOTE_SAVE] = p->save_asked;
	p->save_asked = false;
	votes[VOTE_HOLD] = p->hold;
	if (own->unequal) {
		votes[VOTE_UNEQUAL] = 1;
		votes[VOTE_UNEQUAL_RANK] = (float) p->coll->rank;
		split((double) own->unequal_n, votes + VOTE_UNEQUAL_N);
	}
	votes[VOTE_BAD] = own->bad;
	votes[VOTE_TIGHT] = plx_memory_tight(p);
	votes[VOTE_CRAMPED] = plx_memory_cramped(p);
	for (int g = 0; g < p->groups; g++)
		split(own->sqr[g], votes + VOTE_SQR + 2 * g);
	if (p->coll->rank != 0)
		return;
	votes[VOTE_WISHES] = (float) own_wishes(p);
	votes[VOTE_PER_GPU] = (float) p->wanted.per_gpu;
	votes[VOTE_ACCUM] = (float) p->wanted.accum;
	votes[VOTE_WATCH] = (float) p->watch.advised;
}

/* All ranks know it, so nobody need be ended. */
static int fail_unequal(struct pollux *p, const float *votes)
{
	double n = (double) votes[VOTE_UNEQUAL_N] +
		   (double) votes[VOTE_UNEQUAL_REST];
	char who[40];

	p->agreed = true;
	if (votes[VOTE_UNEQUAL] > 1)
		snprintf(who, sizeof(who), "another size on %.0f ranks",
			 (double) votes[VOTE_UNEQUAL]);
	else
		snprintf(who, sizeof(who), "%.0f numbers on rank %.0f", n,
			 (double) votes[VOTE_UNEQUAL_RANK]);
	plx_fail(&p->err, "pollux_reduce() gets %s, want %zu", who, p->step.n);
	return plx_fault(p, POLLUX_EINVAL);
}

int plx_step_votes_read(struct pollux *p, const float *votes)
{
	struct plx_verdict *all = &p->step.all;
	uint64_t batch = p->step.batch;

	if (votes[VOTE_UNEQUAL] > 0)
		return fail_unequal(p, votes);
	*all = (struct plx_verdict){
		.full = votes[VOTE_FULL] > 0,
		.bad = votes[VOTE_BAD] > 0,
	};
	/* What is given up was not counted either. */
	if (!all->full && (uint64_t) votes[VOTE_SAMPLES] != batch)
		return plx_fail(&p->err,
				"ranks disagree on the step: %.0f samples, "
				"want %" PRIu64,
				(double) votes[VOTE_SAMPLES], batch);
	all->parts = (double) votes[VOTE_PARTS];
	all->loss = (double) votes[VOTE_LOSS] / (double) batch;
	for (int g = 0; g < p->groups; g++)
		all->sqr_parts[g] = (double) votes[VOTE_SQR + 2 * g] +
				    (double) votes[VOTE_SQR + 2 * g + 1];
	p->wishes |= (unsigned int) votes[VOTE_WISHES];
	p->held = votes[VOTE_HOLD] > 0;
	plx_memory_heard(p, (int) votes[VOTE_TIGHT], (int) votes[VOTE_CRAMPED]);
	if (votes[VOTE_SAVE] > 0)
		p->wishes |= PLX_WISH_SAVE;
	p->wanted.per_gpu = (int) votes[VOTE_PER_GPU];
	p->wanted.accum = (int) votes[VOTE_ACCUM];
	p->watch.wanted = (int) votes[VOTE_WATCH];
	return 0;
}
