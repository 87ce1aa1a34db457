/* SPDX-License-Identifier: MIT */
/*
 * memory.c - how large a pass may be that fits into a GPU
 *
 * Learned from passes that did not, by halving what lies between them and the
 * largest that did; remembered in the profile, so that no later start tries
 * again. All ranks know the same and so choose the same.
 */
#include <config.h>

#include <inttypes.h>

#include "agent/agent.h"

/* Of a pass that does not fit, when nothing near it is known to. */
#define FIRST_CUT 0.75

static int min(int a, int b)
{
	return a < b ? a : b;
}

static int max(int a, int b)
{
	return a > b ? a : b;
}

/* The largest pass worth trying, below the one that did not fit. */
static int largest(const struct plx_profile *profile)
{
	int above = profile->fits_not;
	int below = profile->fits;

	if (below < 1 || below >= above)
		below = (int) (FIRST_CUT * above);
	else
		below += (above - below) / 2;
	return max(1, min(below, above - 1));
}

void plx_memory_limit(struct pollux *p)
{
	struct plx_limits *l = &p->limits;

	if (p->profile.fits_not > 1 && largest(&p->profile) < l->max_per_gpu)
		l->max_per_gpu = max(l->min_per_gpu, largest(&p->profile));
}

void plx_memory_fits(struct pollux *p)
{
	int samples = p->batch.per_gpu;

	if (plx_step_whole(p) && samples > p->profile.fits)
		p->profile.fits = samples;
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
	struct plx_limits *l = &p->limits;

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
	l->max_per_gpu = max(l->min_per_gpu, largest(&p->profile));
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
