/* SPDX-License-Identifier: MIT */
/*
 * memory.c - how large a pass may be that fits into a GPU
 *
 * Learned from passes that did not: the limit lies halfway between the
 * smallest of them and the largest that did, until that is near enough. Both
 * are remembered in the profile, so that no later start begins to search
 * again. All ranks know the same and so choose the same.
 */
#include <config.h>

#include <inttypes.h>
#include <limits.h>

#include "agent/agent.h"

/* What fits is not looked for more closely than that. */
#define NEAR_ENOUGH 1.25

static int min(int a, int b)
{
	return a < b ? a : b;
}

static int max(int a, int b)
{
	return a > b ? a : b;
}

/* The largest pass worth trying. */
static int largest(const struct plx_profile *profile)
{
	int above = profile->fits_not;
	int below = profile->fits < above ? profile->fits : 0;

	if (!above)
		return INT_MAX;
	if (below && below * NEAR_ENOUGH >= above)
		return below;
	return max(1, below + (above - below) / 2);
}

void plx_memory_limit(struct pollux *p)
{
	struct plx_limits *l = &p->limits;

	if (!p->allowed_per_gpu)
		p->allowed_per_gpu = l->max_per_gpu;
	l->max_per_gpu = max(l->min_per_gpu,
			     min(p->allowed_per_gpu, largest(&p->profile)));
}

void plx_memory_fits(struct pollux *p)
{
	int samples = p->batch.per_gpu;

	if (!plx_step_whole(p) || samples <= p->profile.fits)
		return;
	p->profile.fits = samples;
	plx_memory_limit(p);
}

/* As many samples as before, in more passes where that is allowed. */
static struct plx_batch smaller(const struct pollux *p)
{
	const struct plx_limits *l = &p->limits;
	int64_t samples =
		(int64_t) p->batch.per_gpu * ((int64_t) p->batch.accum + 1);
	int64_t passes = (samples + l->max_per_gpu - 1) / l->max_per_gpu;

	if (!l->accumulate)
		return (struct plx_batch){ .per_gpu = l->max_per_gpu };
	return (struct plx_batch){
		.per_gpu = max(l->min_per_gpu,
			       (int) ((samples + passes - 1) / passes)),
		.accum = (int) (passes - 1),
	};
}

int plx_memory_shrink(struct pollux *p)
{
	int samples = p->batch.per_gpu;
	const struct plx_limits *l = &p->limits;

	if (samples <= l->min_per_gpu) {
		plx_fail(&p->err,
			 "a pass of %d sample%s does not fit into memory, and "
			 "min_gpu_batch is %d",
			 samples, samples == 1 ? "" : "s", l->min_per_gpu);
		return plx_fault(p, POLLUX_ENOMEM);
	}
	p->profile.fits_not = samples;
	if (p->profile.fits >= samples)
		p->profile.fits = 0;
	plx_memory_limit(p);
	p->batch = smaller(p);
	p->wanted = p->batch;
	plx_say(p,
		"step %" PRIu64 ": a pass of %d samples does not fit into "
		"memory, so at most %d from now on: batch %" PRIu64
		" = %d x %d x %d",
		p->cursor.step, samples, l->max_per_gpu, plx_step_total(p),
		p->shape.gpus, p->batch.per_gpu, p->batch.accum + 1);
	return 0;
}
