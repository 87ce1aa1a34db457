/* SPDX-License-Identifier: MIT */
/*
 * memory.c - how large a pass may be that fits into a GPU
 *
 * Learned from passes that did not: the limit lies halfway between the
 * smallest of them and the largest that did, until that is near enough. Both
 * are remembered in the profile, so that no later start begins to search
 * again. All ranks know the same and so choose the same.
 *
 * A limit ends when all GPUs have more memory free than when it was found: it
 * was another's memory that lacked, as that of ranks that have left since.
 */
#include <config.h>

#include <inttypes.h>
#include <limits.h>
#include <math.h>
#include <stdlib.h>

#include "agent/comm/report.h"
#include "agent/gradient/memory.h"
#include "agent/gradient/step_size.h"
#include "agent/state/agent.h"
#include "agent/state/say.h"
#include "wire/message.h"
#include "wire/now.h"

/* What fits is not looked for more closely than that. */
#define NEAR_ENOUGH 1.25

#define LOOK_EVERY_S 1.0
#define MORE	     0.05 /* of a GPU's memory: so much is no chance */
#define MIB	     (1024.0 * 1024.0)

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

/* ---- what GPUs say ---- */

static void look(struct pollux *p, bool now)
{
	struct plx_gpu_memory *memory = &p->gpu_memory;
	double now_s = p->gpu ? plx_now_s() : 0;
	size_t unused = 0;
	size_t all = 0;

	if (!p->gpu || (!now && memory->looked_s &&
			now_s < memory->looked_s + LOOK_EVERY_S))
		return;
	memory->looked_s = now_s;
	if (plx_gpu_memory(p->gpu, &unused, &all) < 0)
		all = 0;
	memory->unused = (double) unused;
	memory->all = (double) all;
}

void plx_memory_full(struct pollux *p)
{
	look(p, true);
	/* None at all is known, too. */
	p->gpu_memory.at_full =
		p->gpu_memory.all > 0 ? fmax(1, p->gpu_memory.unused) : 0;
}

bool plx_memory_tight(struct pollux *p)
{
	look(p, false);
	/* Whoever uses the rest of it: a second rank would want as much. */
	return p->gpu_memory.unused < p->gpu_memory.all - p->gpu_memory.unused;
}

bool plx_memory_cramped(struct pollux *p)
{
	double then = p->profile.free_bytes;

	look(p, false);
	return !(then > 0 && p->gpu_memory.all > 0 &&
		 p->gpu_memory.unused > then + MORE * p->gpu_memory.all);
}

void plx_memory_heard(struct pollux *p, int tight, int cramped)
{
	p->gpu_memory.tight = tight;
	p->gpu_memory.cramped = cramped;
}

void plx_memory_follow(struct pollux *p)
{
	struct plx_gpu_memory *memory = &p->gpu_memory;

	if (memory->tight != memory->told)
		plx_reporter_say(p->reporter,
				 PLX_MSG_TIGHT
				 " ranks=%d used=%.0f unused=%.0f",
				 memory->tight,
				 (memory->all - memory->unused) / MIB,
				 memory->unused / MIB);
	memory->told = memory->tight;
	if (!p->profile.fits_not || memory->cramped)
		return;
	plx_say(p,
		"step %" PRIu64 ": GPUs have more memory free than when a pass "
		"of %d samples did not fit: passes may be as large again",
		p->cursor.step, p->profile.fits_not);
	p->profile.fits_not = 0;
	p->profile.free_bytes = 0;
	plx_memory_limit(p);
}

/*
 * The least that was free on a rank where the pass did not fit: where none of
 * them knows, 0.
 */
static int find_free(struct pollux *p, double *least)
{
	const struct plx_coll_ops *ops = p->coll->ops;
	double own = p->step.own.full ? p->gpu_memory.at_full : INFINITY;
	double *all = NULL;
	int rc;

	*least = own;
	if (p->coll->ranks == 1)
		return 0;
	if (p->coll->rank == 0) {
		all = calloc((size_t) p->coll->ranks, sizeof(*all));
		if (!all)
			return plx_fail(&p->err, "out of memory");
	}
	rc = ops->gather(p->coll, &own, sizeof(own), all, &p->err);
	for (int i = 0; rc == 0 && all && i < p->coll->ranks; i++)
		*least = fmin(*least, all[i]);
	free(all);
	if (rc < 0 || ops->spread(p->coll, least, sizeof(*least), &p->err) < 0)
		return plx_fault(p, POLLUX_ECOMM);
	return 0;
}

/* ---- a pass that does not fit ---- */

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
	if (find_free(p, &p->profile.free_bytes) < 0)
		return -1;
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
