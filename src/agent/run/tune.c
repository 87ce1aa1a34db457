/* SPDX-License-Identifier: MIT */
/* tune.c - rank 0 thinks: the step model, the batch size, the hint */
#include <config.h>

#include <math.h>
#include <string.h>

#include "agent/gradient/rate.h"
#include "agent/gradient/step_size.h"
#include "agent/run/tune.h"
#include "agent/state/agent.h"

/* How often a better batch is looked for, besides after each fit. */
#define ADVISE_EVERY_S 2.0

/* A change back must be worth more, and so many steps long: */
#define CHANGE_BACK_GAIN 1.25
#define BACK_STEPS	 200

/* What a restart is taken to cost before the first one was seen. */
#define RESTART_GUESS_S 5.0

/* A job that was suspended while it started seems to take for ever. */
static double restart_seconds(const struct plx_profile *profile)
{
	if (!(profile->restart_s > 0))
		return RESTART_GUESS_S;
	return fmin(profile->restart_s, PLX_RESTART_MAX_S);
}

static void send_hint(struct pollux *p, double now_s)
{
	struct plx_hint hint = {
		.profiled = plx_profile_largest(&p->profile),
		.now = p->batch,
		.progress = plx_rate_share(p),
		.restart_s = restart_seconds(&p->profile),
		.lr = p->step.lr,
		/* A diverged loss is no number; the hint must be one. */
		.loss = isfinite(p->step.all.loss) ? p->step.all.loss : 0,
	};
	struct pollux_info info;

	if (!plx_reporter_hint_due(p->reporter, now_s) ||
	    !plx_profile_goodput(&p->profile, &p->limits, &hint.job) ||
	    hint.profiled.gpus == 0)
		return;
	hint.samples_left = plx_rate_left(p);
	memcpy(hint.type, p->gpu_type, sizeof(hint.type));
	pollux_info(p, &info);
	hint.speed = info.samples_per_s;
	hint.goodput = info.goodput;
	plx_reporter_hint(p->reporter, &hint, now_s);
}

/*
 * Estimates wander, most of all in the beginning: what was just given up is
 * not taken again for a few per cent.
 */
static struct plx_batch choose(const struct pollux *p)
{
	struct plx_batch best = plx_profile_advise(
		&p->profile, &p->limits, p->shape, p->batch, PLX_CHANGE_GAIN);
	uint64_t now = plx_step_total(p);
	uint64_t then = plx_batch_total(&p->limits, p->shape.gpus, best);
	bool back = p->meter.grew ? then < now : then > now;

	if (!p->meter.changed || !back ||
	    p->cursor.step > p->meter.changed + BACK_STEPS)
		return best;
	return plx_profile_advise(&p->profile, &p->limits, p->shape, p->batch,
				  CHANGE_BACK_GAIN);
}

void plx_tune(struct pollux *p, double now_s)
{
	bool fitted = false;

	if (p->coll->rank != 0)
		return;
	if (plx_profile_stale(&p->profile)) {
		fitted = plx_profile_fit(&p->profile, p->growth, NULL) == 0;
		p->measured = true;
	}
	if (fitted || now_s > p->meter.advised_s + ADVISE_EVERY_S) {
		p->wanted = choose(p);
		p->meter.advised_s = now_s;
	}
	send_hint(p, now_s);
}
