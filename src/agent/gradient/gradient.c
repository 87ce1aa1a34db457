/* SPDX-License-Identifier: MIT */
/*
 * gradient.c - from gradients of passes to the mean over all samples
 *
 * A pass's gradient is a mean over its samples, so it counts as often as it
 * has samples. Where it is added up:
 *
 * - one pass a step: where the program has it, without a copy. On one rank
 *   nothing is left to be done but to look at it;
 * - several passes, or so small that a second message would cost more than a
 *   copy: in `sum`, with what travels behind it;
 * - on a GPU: there (gradient_cuda.h).
 *
 * Norms are taken on the way: no number is read for them alone that would not
 * be read anyway, but where nothing else is to be done.
 */
#include <config.h>

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "agent/gpu/device.h"
#include "agent/gradient/gradient.h"
#include "agent/gradient/gradient_gpu.h"
#include "agent/gradient/gradient_walk.h"
#include "agent/gradient/memory.h"
#include "agent/gradient/rate.h"
#include "agent/gradient/step_size.h"
#include "agent/gradient/step_votes.h"
#include "agent/state/agent.h"
#include "agent/state/call.h"
#include "agent/state/register.h"
#include "agent/state/say.h"
#include "wire/now.h"

/* Numbers that are copied sooner than sent by themselves. */
#define SMALL 16384

/* ---- how this step's gradient travels ---- */

/* One gradient a step and rank: no sum over passes is needed. */
static bool single(const struct pollux *p)
{
	return p->batch.accum == 0;
}

static bool on_host(const struct pollux *p)
{
	return !p->gpu;
}

/* Sum over ranks where the program has it. */
static bool in_place(const struct pollux *p)
{
	return single(p) &&
	       (p->coll->ranks == 1 || p->step.n > SMALL || !on_host(p));
}

/* All in one message, with what travels behind it. */
static bool in_one(const struct pollux *p)
{
	return on_host(p) && !in_place(p) &&
	       (p->bucket_count == 1 || p->step.n <= SMALL);
}

static uint64_t parts(const struct pollux *p)
{
	return (uint64_t) p->coll->ranks * ((uint64_t) p->batch.accum + 1);
}

/* All parts have as many samples: the sum needs no weights. */
static bool alike(const struct pollux *p)
{
	return p->step.batch % parts(p) == 0;
}

/* Compared with that of the step before: there is nothing else. */
static bool differenced(const struct pollux *p)
{
	return p->coll->ranks == 1 && single(p) && plx_step_whole(p) &&
	       plx_rate_watches(p);
}

/* What this pass's numbers are multiplied with before they are added. */
static float weight(const struct pollux *p)
{
	if (in_place(p) && alike(p))
		return 1;
	return (float) ((double) p->step.count / p->loss_scale);
}

/* ... and what the sum is multiplied with. */
static float factor(const struct pollux *p)
{
	if (in_place(p) && alike(p))
		return (float) (1 / ((double) parts(p) * p->loss_scale));
	return (float) (1 / (double) p->step.batch);
}

static float *place(const struct pollux *p, const struct plx_bucket *b)
{
	if (b->is.memory == POLLUX_CUDA)
		return b->gpu_sum;
	if (in_place(p) && b->data)
		return b->data;
	return p->step.sum + b->first;
}

/* ---- memory ---- */

/* Pages that are never touched cost nothing. */
static int allocate(struct pollux *p)
{
	struct plx_agent_step *step = &p->step;

	if (step->sum)
		return 0;
	step->sum = calloc(step->n + PLX_STEP_VOTES_MAX, sizeof(*step->sum));
	step->previous = calloc(step->n + 1, sizeof(*step->previous));
	p->order = calloc((size_t) p->bucket_count + 1, sizeof(*p->order));
	if (!step->sum || !step->previous || !p->order) {
		plx_fail(&p->err, "out of memory");
		return plx_fault(p, POLLUX_ENOMEM);
	}
	for (int i = 0; i < p->bucket_count; i++) {
		p->order[i] = i;
		if (plx_bucket_open(p, &p->buckets[i]) < 0)
			return plx_fault(p, POLLUX_ENOMEM);
	}
	return 0;
}

int plx_gradient_open(struct pollux *p)
{
	return p->bucket_count || p->config.steps ? allocate(p) : 0;
}

void plx_gradient_release(struct pollux *p)
{
	plx_bucket_close(p);
	free(p->step.sum);
	free(p->step.previous);
	free(p->order);
	free(p->buckets);
}

/* ---- a bucket of a pass ---- */

/* Nothing to add; but a sum must begin with something. */
static void add_nothing(struct pollux *p, struct plx_bucket *b)
{
	if (in_place(p) || p->step.pass == 0)
		memset(place(p, b), 0, b->is.count * sizeof(float));
}

/* Rank 0 has to know what that costs. */
static struct plx_gradient_norms look(struct pollux *p,
				      const struct plx_gradient_walk *walk)
{
	double begin_s = plx_now_s();
	struct plx_gradient_norms seen = plx_gradient_walk(walk);

	p->meter.look_s += plx_now_s() - begin_s;
	return seen;
}

static void add_on_host(struct pollux *p, struct plx_bucket *b)
{
	double scale = p->loss_scale;
	float by = weight(p);
	struct plx_gradient_walk walk = {
		.in = b->data,
		.out = place(p, b),
		.add = !in_place(p) && p->step.pass > 0,
		.weight = by,
		.precondition = b->is.precondition,
		.n = b->is.count,
	};

	if (!p->step.count) {
		add_nothing(p, b);
		return;
	}
	/* The mean of one part is looked at when it is made. */
	if (in_place(p) && p->coll->ranks == 1)
		return;
	if (in_place(p) && alike(p)) {
		/* To be looked at only. */
		if (!plx_rate_watches(p))
			return;
		walk.out = NULL;
	}
	if (!plx_rate_watches(p) && !walk.add)
		(void) plx_gradient_walk_plain(walk.in, walk.out, by, walk.n);
	else
		p->step.own.sqr[b->is.group] +=
			look(p, &walk).sqr / (scale * scale);
}

/* ---- the mean ---- */

/*
 * What is applied is what the program has given us, and it has looked. A sum
 * of finite numbers need not be finite.
 */
static bool known_finite(const struct pollux *p)
{
	return p->coll->ranks == 1 && single(p) &&
	       (p->config.finite || p->step.own.looked);
}

/*
 * Of some numbers of a bucket, by one walk: the sum becomes the mean, is seen
 * to be finite, and gives its norm where that is to be known.
 */
static void make_mean(struct pollux *p, struct plx_bucket *b, size_t first,
		      size_t count)
{
	struct plx_agent_step *step = &p->step;
	const float *in = place(p, b) + first;
	float *out = b->data + first;
	bool beside = differenced(p);
	float by = factor(p);
	struct plx_gradient_walk walk = {
		.in = in,
		.out = in == out && by == 1 ? NULL : out,
		.weight = by,
		.compare = beside && step->has_previous,
		.keep = beside && plx_rate_keeps(p),
		.n = count,
	};
	struct plx_gradient_norms seen;
	double scale;

	b->made = first + count;
	if (walk.compare || walk.keep)
		walk.previous = step->previous + b->first + first;
	if (b->is.precondition)
		walk.precondition = b->is.precondition + first;
	/* Without previous it is the sum that is looked at. */
	scale = walk.previous ? 1 : (double) by * (double) by;
	if (!plx_rate_watches(p)) {
		if (walk.out || !known_finite(p))
			step->made.bad |= !plx_gradient_walk_plain(in, walk.out,
								   by, walk.n);
		return;
	}
	seen = look(p, &walk);
	step->made.sqr[b->is.group] += scale * seen.sqr;
	step->cross[b->is.group] += seen.cross;
}

/* ---- all-reduce ---- */

static bool can_begin(const struct pollux *p)
{
	return p->coll->ops->sum_begin && !in_one(p);
}

static int begin_sum(struct pollux *p, struct plx_bucket *b)
{
	const struct plx_coll_ops *ops = p->coll->ops;

	p->step.begun++;
	return ops->sum_begin(p->coll, place(p, b), b->is.count, b->is.memory,
			      &p->err);
}

/* That of rank 0: ranks need not come to their gradients alike. */
static int agree_on_order(struct pollux *p)
{
	size_t bytes = (size_t) p->bucket_count * sizeof(*p->order);

	if (p->order_set)
		return 0;
	if (p->bucket_count > 1 &&
	    p->coll->ops->spread(p->coll, p->order, bytes, &p->err) < 0)
		return plx_fault(p, POLLUX_ECOMM);
	p->order_set = true;
	return 0;
}

/*
 * In the last pass each bucket's sum over ranks begins as soon as it is there
 * and those before it are: all ranks keep the order of the first step, also
 * one that gives up in the middle.
 */
static int begin_sums(struct pollux *p)
{
	struct plx_agent_step *step = &p->step;

	if (!p->order_set || !can_begin(p) || step->pass < p->batch.accum ||
	    step->own.full || step->own.unequal)
		return 0;
	while (step->begun < p->bucket_count) {
		struct plx_bucket *b = &p->buckets[p->order[step->begun]];

		if (!b->data)
			break;
		if (begin_sum(p, b) < 0)
			return plx_fault(p, POLLUX_ECOMM);
	}
	return 0;
}

int pollux_gradient(struct pollux *p, int bucket, float *data)
{
	struct plx_bucket *b;

	if (!p)
		return POLLUX_EINVAL;
	if (p->stage != PLX_STAGE_PASS)
		return plx_misuse(p, "pollux_gradient()");
	if (bucket < 0 || bucket >= p->bucket_count || !data ||
	    p->buckets[bucket].data) {
		plx_fail(&p->err, "bucket %d of %d: %s", bucket,
			 p->bucket_count,
			 bucket < 0 || bucket >= p->bucket_count ? "unknown"
			 : data ? "twice in one pass"
				: "no data");
		plx_fault(p, POLLUX_EINVAL);
		return plx_end(p);
	}
	if (allocate(p) < 0)
		return plx_end(p);
	b = &p->buckets[bucket];
	b->data = data;
	if (!p->order_set)
		p->order[p->step.arrived] = bucket;
	p->step.arrived++;
	if (b->is.memory != POLLUX_CUDA)
		add_on_host(p, b);
	else if (plx_bucket_sum(p, b, weight(p)) < 0)
		return plx_end(p);
	return begin_sums(p) < 0 ? plx_end(p) : 0;
}

/* In the order in which buckets are summed. */
static struct plx_bucket *bucket_at(struct pollux *p, int i)
{
	return &p->buckets[p->order_set ? p->order[i] : i];
}

/* One message for everything. */
static int sum_at_once(struct pollux *p)
{
	float *votes = p->step.sum + p->step.n;

	plx_step_votes_write(p, votes);
	return p->coll->ops->sum(p->coll, p->step.sum,
				 p->step.n + plx_step_votes_count(p), &p->err);
}

static int sum_one(struct pollux *p, struct plx_bucket *b)
{
	const struct plx_coll_ops *ops = p->coll->ops;
	size_t bytes = b->is.count * sizeof(float);
	float *host = p->step.sum + b->first;

	if (can_begin(p))
		return begin_sum(p, b);
	if (b->is.memory != POLLUX_CUDA)
		return ops->sum(p->coll, place(p, b), b->is.count, &p->err);
	if (plx_device_read(host, b->gpu_sum, bytes, POLLUX_CUDA, &p->err) <
		    0 ||
	    ops->sum(p->coll, host, b->is.count, &p->err) < 0)
		return -1;
	return plx_device_write(b->gpu_sum, host, bytes, POLLUX_CUDA, &p->err);
}

struct maker {
	struct pollux *p;
	struct plx_bucket *bucket;
};

static void see_part(void *arg, size_t first, size_t count)
{
	struct maker *m = arg;

	make_mean(m->p, m->bucket, first, count);
}

/*
 * The oldest sum: the mean is made of what has come, while caches hold it and
 * the rest is on its way. Nobody has a use for that of a pass that was given
 * up.
 */
static int end_sum(struct pollux *p, struct plx_bucket *b)
{
	struct maker maker = { p, b };
	const struct plx_seer seer = { see_part, &maker };

	return p->coll->ops->sum_wait(p->coll, b && b->data ? &seer : NULL,
				      &p->err);
}

/* Bucket by bucket; what was not begun yet, now. */
static int sum_in_parts(struct pollux *p)
{
	const struct plx_coll_ops *ops = p->coll->ops;
	float *votes = p->step.sum + p->step.n;

	for (int i = p->step.begun; i < p->bucket_count; i++) {
		if (sum_one(p, bucket_at(p, i)) < 0)
			return -1;
	}
	plx_step_votes_write(p, votes);
	if (!can_begin(p))
		return ops->sum(p->coll, votes, plx_step_votes_count(p),
				&p->err);
	if (ops->sum_begin(p->coll, votes, plx_step_votes_count(p), POLLUX_HOST,
			   &p->err) < 0)
		return -1;
	for (int i = 0; i < p->bucket_count; i++) {
		if (end_sum(p, bucket_at(p, i)) < 0)
			return -1;
	}
	return end_sum(p, NULL);
}

/* ---- all means ---- */

static int make_means(struct pollux *p)
{
	struct plx_verdict *all = &p->step.all;

	for (int i = 0; i < p->bucket_count; i++) {
		struct plx_bucket *b = &p->buckets[i];

		/* The rest: all of it where a sum comes in one part. */
		if (b->is.memory != POLLUX_CUDA)
			make_mean(p, b, b->made, b->is.count - b->made);
		else if (plx_bucket_mean(p, b, factor(p), differenced(p)) < 0)
			return -1;
	}
	if (plx_bucket_mean_norms(p) < 0)
		return -1;
	all->bad |= p->step.made.bad;
	for (int g = 0; g < p->groups; g++) {
		all->sqr_mean[g] += p->step.made.sqr[g];
		all->bad |= !isfinite(all->sqr_mean[g]);
	}
	return 0;
}

static int synchronise(struct pollux *p)
{
	double begin_s;
	int rc;

	/* Norms are read when the GPU has finished the pass. */
	if (plx_samplelog_sum(p->log, &p->cursor, &p->err) < 0 ||
	    plx_bucket_sum_norms(p) < 0)
		return -1;
	plx_gpu_pass_time(p);
	begin_s = plx_now_s();
	rc = in_one(p) ? sum_at_once(p) : sum_in_parts(p);
	if (rc < 0)
		return plx_fault(p, POLLUX_ECOMM);
	p->meter.sync_s = plx_now_s() - begin_s;
	plx_stage(p, PLX_STAGE_SYNCED);
	if (plx_step_votes_read(p, p->step.sum + p->step.n) < 0)
		return plx_fault(p, POLLUX_ECOMM);
	if (p->step.all.full)
		return 0;
	if (agree_on_order(p) < 0 || make_means(p) < 0)
		return -1;
	plx_rate_update(p);
	return 0;
}

/* ---- the end of a pass ---- */

void plx_gradient_begin(struct pollux *p)
{
	p->step.begun = 0;
	p->meter.look_s = 0;
	p->step.own = (struct plx_share){ 0 };
	p->step.made = (struct plx_made){ 0 };
	memset(p->step.cross, 0, sizeof(p->step.cross));
	for (int i = 0; i < p->bucket_count; i++)
		p->buckets[i].made = 0;
}

static int end_pass(struct pollux *p)
{
	int rc = 0;

	p->meter.pass_s = plx_now_s() - p->meter.pass_begin_s;
	p->meter.sync_s = 0;
	plx_gpu_pass_ends(p);
	if (p->step.pass < p->batch.accum)
		plx_stage(p, PLX_STAGE_ADDED);
	else
		rc = synchronise(p);
	for (int i = 0; i < p->bucket_count; i++)
		p->buckets[i].data = NULL;
	p->step.arrived = 0;
	return rc < 0 ? plx_end(p) : 0;
}

int pollux_sync(struct pollux *p, double loss)
{
	struct plx_share *own;

	if (!p)
		return POLLUX_EINVAL;
	if (p->stage != PLX_STAGE_PASS)
		return plx_misuse(p, "pollux_sync()");
	own = &p->step.own;
	if (p->step.arrived < p->bucket_count ||
	    (!p->bucket_count && !p->config.steps)) {
		plx_fail(&p->err,
			 "pollux_sync() after %d of %d buckets' gradients",
			 p->step.arrived, p->bucket_count);
		plx_fault(p, POLLUX_ECALL);
		return plx_end(p);
	}
	if (p->step.count) {
		own->parts++;
		own->loss += (double) p->step.count * loss;
		own->samples += (double) p->step.count;
	}
	return end_pass(p);
}

/* A rank that gives up takes part in the sum all the same, with nothing. */
int pollux_out_of_memory(struct pollux *p)
{
	if (!p)
		return POLLUX_EINVAL;
	if (p->stage != PLX_STAGE_PASS)
		return plx_misuse(p, "pollux_out_of_memory()");
	p->step.own.full = true;
	plx_memory_full(p);
	if (p->bucket_count)
		return allocate(p) < 0 ? plx_end(p) : end_pass(p);
	if (p->coll->ranks == 1) {
		p->step.all.full = true;
		plx_stage(p, PLX_STAGE_SYNCED);
		return 0;
	}
	plx_fail(&p->err, "pollux_out_of_memory() before the gradient's size "
			  "is known: call pollux_bucket() first");
	plx_fault(p, POLLUX_ECALL);
	return plx_end(p);
}

/* What ranks bring to the first pollux_reduce(), where all learn it. */
struct sizes {
	uint64_t first; /* rank 0's */
	uint64_t other; /* of ... */
	int rank;	/* ... the first rank that has another; 0: none */
};

static int compare_sizes(struct pollux *p, size_t n, struct sizes *sizes)
{
	const struct plx_coll_ops *ops = p->coll->ops;
	uint64_t own = n;
	uint64_t *all = NULL;
	int rc;

	*sizes = (struct sizes){ .first = n };
	if (p->coll->rank == 0) {
		all = calloc((size_t) p->coll->ranks, sizeof(*all));
		if (!all)
			return plx_fail(&p->err, "out of memory");
	}
	rc = ops->gather(p->coll, &own, sizeof(own), all, &p->err);
	for (int i = p->coll->ranks - 1; rc == 0 && all && i > 0; i--) {
		if (all[i] == n)
			continue;
		sizes->other = all[i];
		sizes->rank = i;
	}
	free(all);
	if (rc == 0)
		rc = ops->spread(p->coll, sizes, sizeof(*sizes), &p->err);
	return rc;
}

/* The gradient is one bucket of the size that all ranks bring. */
static int begin_reduce(struct pollux *p, size_t n)
{
	const struct pollux_bucket all = { .count = n };
	struct sizes sizes;

	if (compare_sizes(p, n, &sizes) < 0)
		return plx_fault(p, POLLUX_ECOMM);
	if (sizes.rank) {
		p->agreed = true;
		plx_fail(&p->err,
			 "pollux_reduce() gets %" PRIu64 " numbers on rank %d, "
			 "%" PRIu64 " on rank 0",
			 sizes.other, sizes.rank, sizes.first);
		return plx_fault(p, POLLUX_EINVAL);
	}
	if (n < 1) {
		p->agreed = true;
		plx_fail(&p->err, "pollux_reduce() gets no numbers");
		return plx_fault(p, POLLUX_EINVAL);
	}
	return plx_bucket_add(p, &all) < 0 ? plx_fault(p, POLLUX_ENOMEM) : 0;
}

int pollux_reduce(struct pollux *p, float *gradient, size_t n, double loss)
{
	int rc;

	if (!p)
		return POLLUX_EINVAL;
	if (p->stage != PLX_STAGE_PASS)
		return plx_misuse(p, "pollux_reduce()");
	if (!p->bucket_count && begin_reduce(p, n) < 0)
		return plx_end(p);
	if (p->bucket_count != 1) {
		plx_fail(&p->err, "pollux_reduce() is for one bucket, not %d",
			 p->bucket_count);
		plx_fault(p, POLLUX_EINVAL);
		return plx_end(p);
	}
	/* The others learn it when they end the step. */
	if (p->buckets[0].is.count != n) {
		p->step.own.unequal = true;
		p->step.own.unequal_n = n;
		return allocate(p) < 0 ? plx_end(p) : end_pass(p);
	}
	rc = pollux_gradient(p, 0, gradient);
	return rc < 0 ? rc : pollux_sync(p, loss);
}

int pollux_finite(struct pollux *p, bool finite)
{
	if (!p)
		return POLLUX_EINVAL;
	if (p->stage != PLX_STAGE_PASS)
		return plx_misuse(p, "pollux_finite()");
	p->step.own.looked = true;
	p->step.own.bad |= !finite;
	return 0;
}

int pollux_loss_scale(struct pollux *p, double scale)
{
	if (!p)
		return POLLUX_EINVAL;
	if (!(scale > 0) || !isfinite(scale)) {
		plx_fail(&p->err, "loss scale %g: want more than 0", scale);
		return POLLUX_EINVAL;
	}
	p->loss_scale_next = scale;
	return 0;
}
