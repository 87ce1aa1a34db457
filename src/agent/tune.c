/* SPDX-License-Identifier: MIT */
/* tune.c - rank 0 thinks: the step model, the batch size, the hint */
#include <config.h>

#include <math.h>
#include <string.h>

#include "agent/agent.h"

/* How often a better batch is looked for, besides after each fit. */
#define ADVISE_EVERY_S 2.0

/* What a restart is taken to cost before the first one was seen. */
#define RESTART_GUESS_S 5.0

static double dot(const float *a, const float *b, size_t n)
{
	double sums[4] = { 0 };
	size_t i = 0;

	for (; i + 4 <= n; i += 4) {
		for (size_t k = 0; k < 4; k++)
			sums[k] += (double) a[i + k] * (double) b[i + k];
	}
	for (; i < n; i++)
		sums[0] += (double) a[i] * (double) b[i];
	return sums[0] + sums[1] + sums[2] + sums[3];
}

/*
 * One GPU and one pass give one gradient a step: compare it with that of the
 * step before, as the published code does. Biased, so it is forgotten as soon
 * as there is a better estimate.
 */
static void update_differenced(struct pollux *p, const float *mean)
{
	struct plx_step *step = &p->step;
	double sqr = dot(mean, mean, step->n);
	const double base = p->limits.base_batch;

	if (step->previous_sqr > 0) {
		double cross = dot(mean, step->previous, step->n);
		const struct plx_noise_step seen = {
			.parts = 2,
			.mean_sqr_parts = (sqr + step->previous_sqr) / 2,
			.sqr_mean = (sqr + step->previous_sqr + 2 * cross) / 4,
			.total_batch = 2.0 * (double) step->batch,
			.base_batch = base,
		};

		plx_noise_update(&p->profile.tracker, &seen);
		p->profile.differenced = true;
	}
	memcpy(step->previous, mean, step->n * sizeof(*mean));
	step->previous_sqr = sqr;
}

void plx_tune_noise(struct pollux *p, const float *mean, double sqr_parts,
		    double parts)
{
	struct plx_step *step = &p->step;
	struct plx_noise_step seen = {
		.parts = (int) parts,
		.mean_sqr_parts = parts > 0 ? sqr_parts / parts : 0,
		.total_batch = (double) step->batch,
		.base_batch = p->limits.base_batch,
	};

	if (!plx_step_whole(p))
		return;
	if (parts < 2) {
		update_differenced(p, mean);
		return;
	}
	if (p->profile.differenced) {
		memset(&p->profile.tracker, 0, sizeof(p->profile.tracker));
		p->profile.differenced = false;
	}
	step->previous_sqr = 0;
	seen.sqr_mean = dot(mean, mean, step->n);
	plx_noise_update(&p->profile.tracker, &seen);
}

/* A job that was suspended while it started seems to take for ever. */
static double restart_seconds(const struct plx_profile *profile)
{
	if (!(profile->restart_s > 0))
		return RESTART_GUESS_S;
	return fmin(profile->restart_s, PLX_RESTART_MAX_S);
}

/*
 * Of the samples still to come, at the present batch, as many as a base batch
 * would need for the same progress.
 */
static double samples_left(const struct pollux *p,
			   const struct plx_noise *noise)
{
	const struct plx_cursor *c = &p->cursor;
	double left = (double) c->epochs * (double) c->samples -
		      (double) plx_cursor_used(c);
	double base = p->limits.base_batch;
	double total =
		(double) plx_batch_total(&p->limits, p->shape.gpus, p->batch);

	if (total > base)
		left *= plx_efficiency(noise, base, total);
	return left;
}

static void send_hint(struct pollux *p, double now_s)
{
	struct plx_hint hint = {
		.profiled = plx_profile_largest(&p->profile),
		.now = p->batch,
		.progress = plx_cursor_progress(&p->cursor),
		.restart_s = restart_seconds(&p->profile),
		.lr = p->step.lr,
		/* A diverged loss is no number; the hint must be one. */
		.loss = isfinite(p->step.loss) ? p->step.loss : 0,
	};
	struct pollux_info info;

	if (!plx_profile_goodput(&p->profile, &p->limits, &hint.job) ||
	    hint.profiled.gpus == 0)
		return;
	hint.samples_left = samples_left(p, &hint.job.noise);
	pollux_info(p, &info);
	hint.goodput = info.goodput;
	plx_reporter_hint(p->reporter, &hint, now_s);
}

void plx_tune(struct pollux *p)
{
	double now_s = plx_now_s();
	bool fitted = false;

	if (p->coll->rank != 0)
		return;
	if (plx_profile_stale(&p->profile))
		fitted = plx_profile_fit(&p->profile, p->growth, NULL) == 0;
	if (fitted || now_s > p->meter.advised_s + ADVISE_EVERY_S) {
		p->wanted = plx_profile_advise(&p->profile, &p->limits,
					       p->shape, p->batch);
		p->meter.advised_s = now_s;
	}
	send_hint(p, now_s);
}
