/* SPDX-License-Identifier: MIT */
/*
 * rate.c - noise of the gradient, learning rate and progress
 *
 * All ranks see the same sums and so come to the same numbers.
 */
#include <config.h>

#include <math.h>
#include <string.h>

#include "agent/base/callback.h"
#include "agent/gradient/rate.h"
#include "agent/gradient/step_size.h"
#include "agent/state/agent.h"

/* ---- noise ---- */

bool plx_rate_noise(const struct pollux *p, struct plx_noise *noise)
{
	return plx_noise_sum(&p->profile.noise, noise);
}

/* ---- when it is looked at ---- */

#define LARGE (1 << 20) /* numbers: more than caches hold */
#define SHARE 0.02	/* of the time of steps that looking may cost */

/*
 * Where the batch cannot change nothing follows from the noise; where it can,
 * its estimate has to follow the training.
 */
#define FIXED_LEAST 16
#define FIXED_MOST  256
#define MOST	    16

static bool is_fixed(const struct pollux *p)
{
	return p->limits.max_batch <= p->limits.base_batch;
}

/* Steps of which one, or a pair, is looked at. */
static int every(const struct pollux *p)
{
	int least = is_fixed(p) ? FIXED_LEAST : 1;
	int most = is_fixed(p) ? FIXED_MOST : MOST;
	int wanted = p->watch.every;

	if (p->step.n < LARGE)
		return 1;
	if (wanted < least)
		return least;
	return wanted < most ? wanted : most;
}

static int looks(const struct pollux *p)
{
	return p->coll->ranks == 1 ? 2 : 1;
}

static bool watches_at(const struct pollux *p, uint64_t step)
{
	uint64_t of = (uint64_t) every(p);

	return step % of < (uint64_t) looks(p);
}

bool plx_rate_watches(const struct pollux *p)
{
	return watches_at(p, p->cursor.step);
}

bool plx_rate_keeps(const struct pollux *p)
{
	return watches_at(p, p->cursor.step + 1);
}

void plx_rate_follow(struct pollux *p)
{
	p->watch.every = p->watch.wanted;
}

int plx_rate_interval(double looks_s, double step_s)
{
	return (int) fmin(FIXED_MOST, ceil(looks_s / (SHARE * step_s)));
}

/* Rank 0, after a look: so seldom that all looks cost little. */
static void advise(struct pollux *p)
{
	struct plx_watch *w = &p->watch;
	double rate = p->meter.samples_per_s;
	double step_s = rate > 0 ? (double) p->step.batch / rate : 0;

	if (p->coll->rank != 0 || p->step.n < LARGE || !plx_step_whole(p) ||
	    !plx_rate_watches(p))
		return;
	w->look_s = w->look_s > 0 ? 0.75 * w->look_s + 0.25 * p->meter.look_s
				  : p->meter.look_s;
	if (step_s > 0)
		w->advised = plx_rate_interval(looks(p) * w->look_s, step_s);
}

/* As many steps as ever, of which fewer are looked at. */
static double window(const struct pollux *p)
{
	return fmax(1, p->config.noise_window / every(p));
}

/* ---- what is seen ---- */

/*
 * One GPU and one pass give one gradient a step: compare it with that of the
 * step before, as the published code does. Biased, so it is forgotten as soon
 * as there is a better estimate.
 */
static void update_differenced(struct pollux *p)
{
	struct plx_agent_step *step = &p->step;

	for (int g = 0; g < p->groups; g++) {
		double sqr = step->all.sqr_mean[g];
		double both = sqr + step->previous_sqr[g];
		const struct plx_noise_step seen = {
			.parts = 2,
			.mean_sqr_parts = both / 2,
			.sqr_mean = (both + 2 * step->cross[g]) / 4,
			.total_batch = 2.0 * (double) step->batch,
			.base_batch = p->limits.base_batch,
			.window = window(p),
		};

		if (step->has_previous)
			plx_noise_update(&p->profile.noise.of[g], &seen);
		step->previous_sqr[g] = sqr;
	}
	p->profile.differenced = p->profile.differenced || step->has_previous;
	step->has_previous = plx_rate_keeps(p);
}

static void update_from_parts(struct pollux *p)
{
	const struct plx_verdict *all = &p->step.all;

	if (p->profile.differenced) {
		memset(p->profile.noise.of, 0, sizeof(p->profile.noise.of));
		p->profile.differenced = false;
	}
	p->step.has_previous = false;
	for (int g = 0; g < p->groups; g++) {
		const struct plx_noise_step seen = {
			.parts = (int) all->parts,
			.mean_sqr_parts = all->sqr_parts[g] / all->parts,
			.sqr_mean = all->sqr_mean[g],
			.total_batch = (double) p->step.batch,
			.base_batch = p->limits.base_batch,
			.window = window(p),
		};

		plx_noise_update(&p->profile.noise.of[g], &seen);
	}
}

/* A gradient that is not one says nothing, a smaller rest too little. */
static void update_noise(struct pollux *p)
{
	/* Without a gradient nothing is noisy: the batch stays. */
	const struct plx_noise_step none = {
		.parts = 2,
		.mean_sqr_parts = 1,
		.sqr_mean = 1,
		.total_batch = 2.0 * p->limits.base_batch,
		.base_batch = p->limits.base_batch,
		.window = p->config.noise_window,
	};

	p->profile.noise.count = p->groups;
	if (p->config.steps)
		plx_noise_update(&p->profile.noise.of[0], &none);
	else if (p->step.all.bad || !plx_rate_watches(p))
		p->step.has_previous = false;
	else if (!plx_step_whole(p))
		p->step.has_previous = p->step.has_previous && every(p) == 1;
	else if (p->step.all.parts >= 2)
		update_from_parts(p);
	else if (p->coll->ranks == 1)
		update_differenced(p);
}

double plx_rate_efficiency(const struct pollux *p, double total)
{
	double base = p->limits.base_batch;
	struct plx_noise noise;

	if (total <= base || !plx_rate_noise(p, &noise))
		return 1;
	return plx_efficiency(&noise, base, total);
}

/* ---- learning rate ---- */

/*
 * A smaller rest of an epoch is trained at the rate that was tuned, as it
 * would be without us.
 */
static double scale_of(const struct pollux *p)
{
	double base = p->limits.base_batch;
	double scale = (double) p->step.batch / base;

	return scale < 1 && (double) plx_step_total(p) >= base ? 1 : scale;
}

static double own_rule(const struct pollux *p, const struct plx_lr_state *state,
		       int group)
{
	const struct pollux_lr_state asked = {
		.scale = state->scale,
		.sqr = state->noise.sqr,
		.var = state->noise.var,
		.progress = state->progress,
		.batch = p->limits.base_batch,
		.samples = p->config.samples,
		.group = group,
	};
	double factor = plx_call_lr_rule(&p->config, &asked);

	return isfinite(factor) && factor >= 0 ? factor : 1;
}

static void set_factors(struct pollux *p)
{
	struct plx_lr_state state = {
		.scale = scale_of(p),
		.progress = p->profile.progress + p->step.gain,
		.warmup = p->config.lr_warmup_epochs *
			  (double) p->config.samples / p->limits.base_batch,
	};

	for (int g = 0; g < p->groups; g++) {
		state.noise = plx_noise_or_first(&p->profile.noise.of[g]);
		p->step.factor[g] = p->config.lr_rule
					    ? own_rule(p, &state, g)
					    : plx_lr_factor(p->rule, &state);
	}
	p->step.lr = p->config.lr * p->step.factor[0];
}

void plx_rate_update(struct pollux *p)
{
	double scale = (double) p->step.batch / p->limits.base_batch;
	struct plx_noise noise = plx_noise_or_first(&p->profile.noise.of[0]);

	update_noise(p);
	advise(p);
	plx_rate_noise(p, &noise);
	p->step.gain = p->step.all.bad ? 0 : plx_noise_gain(&noise, scale);
	set_factors(p);
}

double pollux_lr(const struct pollux *p)
{
	return p ? p->step.lr : 0;
}

double pollux_lr_factor(const struct pollux *p, int group)
{
	return p && group >= 0 && group < p->groups ? p->step.factor[group] : 1;
}

bool pollux_skipped(const struct pollux *p)
{
	return p && p->stage == PLX_STAGE_SYNCED &&
	       (p->step.all.bad || p->step.all.full);
}

/* ---- progress ---- */

/* Of this step as well, as soon as its gradient is there. */
double pollux_progress(const struct pollux *p)
{
	if (!p)
		return 0;
	return p->profile.progress +
	       (p->stage == PLX_STAGE_SYNCED ? p->step.gain : 0);
}

/* Iterations at the base batch that the training has. */
static double target(const struct pollux *p)
{
	return (double) p->config.epochs * (double) p->config.samples /
	       p->limits.base_batch;
}

double plx_rate_share(const struct pollux *p)
{
	if (p->config.counting == POLLUX_PROGRESS)
		return fmin(1, p->profile.progress / target(p));
	return plx_cursor_progress(&p->cursor);
}

bool plx_rate_finished(const struct pollux *p)
{
	if (p->config.counting == POLLUX_PROGRESS)
		return p->profile.progress >= target(p);
	return plx_cursor_finished(&p->cursor);
}

double plx_rate_left(const struct pollux *p)
{
	double all = (double) p->cursor.epochs * (double) p->cursor.samples;
	double left = all - (double) plx_cursor_used(&p->cursor);

	if (p->config.counting == POLLUX_PROGRESS)
		return p->limits.base_batch *
		       fmax(0, target(p) - p->profile.progress);
	return left * plx_rate_efficiency(p, (double) plx_step_total(p));
}
