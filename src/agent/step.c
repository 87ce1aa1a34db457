/* SPDX-License-Identifier: MIT */
/*
 * step.c - the loop: next, reduce, commit
 *
 * Ranks agree on what happens between steps without extra messages: rank 0
 * appends its wishes to the gradient, whose sum all ranks receive. They are
 * acted upon after the commit of that step, never inside one.
 */
#include <config.h>

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "agent/agent.h"
#include "wire/message.h"

/* Numbers that travel behind the gradient; the last five are rank 0's. */
enum extra {
	EXTRA_SQR,     /* sum of squared norms of the parts' gradients */
	EXTRA_PARTS,   /* parts with samples */
	EXTRA_LOSS,    /* sum over samples */
	EXTRA_SAMPLES, /* to be sure that all agree on the step */
	EXTRA_STOP,
	EXTRA_GONE,
	EXTRA_SAVE,
	EXTRA_PER_GPU, /* of the next step; below 2^24, so exact */
	EXTRA_ACCUM,
	EXTRA_COUNT,
};

static int misuse(struct pollux *p, const char *call)
{
	static const char *const due[] = {
		[PLX_STAGE_NEW] = "pollux_start()",
		[PLX_STAGE_BETWEEN] = "pollux_next()",
		[PLX_STAGE_PASS] = "pollux_reduce()",
		[PLX_STAGE_ADDED] = "pollux_next()",
		[PLX_STAGE_SYNCED] = "pollux_commit()",
		[PLX_STAGE_ENDED] = "pollux_destroy()",
	};

	/* After a failure the first sentence is the one to be kept. */
	if (p->failed)
		return -1;
	plx_fail(&p->err, "%s is called where %s is due", call, due[p->stage]);
	return plx_end(p);
}

/* ---- next ---- */

/* All ranks have written their logs and left the step; rank 0 saves. */
static int save(struct pollux *p, enum plx_save_kind kind)
{
	int rc = -1;

	p->save = false;
	if (p->coll->ops->barrier(p->coll, &p->err) == 0)
		rc = plx_save(p, kind);
	return rc;
}

static int leave(struct pollux *p)
{
	bool flush = p->gone || p->config.checkpoint_every_s <= 0;

	/*
	 * The next start reads what this host's memory holds, and flushes when
	 * that is due; but nobody else does without periodic saves.
	 */
	if (save(p, flush ? PLX_SAVE_FLUSHED : PLX_SAVE_QUICK) != 0)
		return -1;
	plx_reporter_say(p->reporter,
			 PLX_MSG_SAVED " samples=%" PRIu64 " crc=%08" PRIx32
				       " bytes=%zu seconds=%.6f idle=%.6f",
			 plx_cursor_used(&p->cursor), p->saved.crc,
			 p->saved.bytes, p->saved.seconds,
			 plx_now_s() - p->meter.commit_s);
	/* Nobody may leave, still less fail, while rank 0 saves. */
	if (p->coll->ops->barrier(p->coll, &p->err) < 0)
		return -1;
	if (p->gone)
		return plx_fail(&p->err,
				"the launcher is gone; state is saved");
	p->stopped = true;
	p->stage = PLX_STAGE_ENDED;
	return 0;
}

static int finish(struct pollux *p)
{
	if (save(p, PLX_SAVE_FLUSHED) != 0)
		return -1;
	plx_reporter_say(p->reporter, PLX_MSG_DONE);
	p->stage = PLX_STAGE_ENDED;
	return 0;
}

/* 1: train on, 0: leave, -1: failed. */
static int between_steps(struct pollux *p)
{
	if (plx_cursor_finished(&p->cursor))
		return finish(p);
	if (p->stop || p->gone)
		return leave(p);
	if (p->save && save(p, PLX_SAVE_ASYNC) < 0)
		return -1;
	p->step.batch = plx_cursor_batch(
		&p->cursor,
		plx_batch_total(&p->limits, p->shape.gpus, p->batch));
	p->step.pass = -1;
	return 1;
}

/* This rank's samples of the pass. */
static int give_out(struct pollux *p)
{
	struct plx_step *step = &p->step;
	uint64_t ranks = (uint64_t) p->coll->ranks;
	uint64_t passes = (uint64_t) p->batch.accum + 1;
	struct plx_range part = plx_cursor_part(
		&p->cursor, step->batch,
		(uint64_t) step->pass * ranks + (uint64_t) p->coll->rank,
		passes * ranks);
	uint64_t sum = 0;

	if (part.count > step->numbers_room) {
		uint64_t *more =
			realloc(step->numbers, part.count * sizeof(*more));

		if (!more)
			return plx_fail(&p->err, "out of memory");
		step->numbers = more;
		step->numbers_room = part.count;
	}
	for (uint64_t i = 0; i < part.count; i++) {
		step->numbers[i] =
			plx_cursor_sample(&p->cursor, part.first + i);
		sum += step->numbers[i];
	}
	step->count = part.count;
	return plx_samplelog_add(p->log, &part, sum, &p->err);
}

bool plx_step_whole(const struct pollux *p)
{
	uint64_t full = plx_batch_total(&p->limits, p->shape.gpus, p->batch);

	return p->step.batch >= full || p->step.batch >= p->cursor.samples;
}

/* Where to note how long this pass takes; NULL when that says nothing. */
static struct plx_row *row_of_pass(struct pollux *p)
{
	/* The first step warms up. */
	if (p->coll->rank != 0 || p->meter.settling || !plx_step_whole(p) ||
	    !p->step.count)
		return NULL;
	/* What it has, not per_gpu: a batch that does not divide has less. */
	return plx_profile_row(&p->profile, p->shape, (int) p->step.count,
			       p->cursor.step);
}

static void count_pass(struct pollux *p)
{
	struct plx_row *row = row_of_pass(p);

	if (row)
		plx_row_add_pass(row, p->meter.pass_s);
}

int pollux_next(struct pollux *p, struct pollux_pass *pass)
{
	if (p->stage == PLX_STAGE_BETWEEN) {
		int more = between_steps(p);

		if (more <= 0)
			return more < 0 ? plx_end(p) : 0;
	} else if (p->stage == PLX_STAGE_ADDED) {
		count_pass(p);
	} else {
		return misuse(p, "pollux_next()");
	}
	p->step.pass++;
	if (give_out(p) < 0)
		return plx_end(p);
	*pass = (struct pollux_pass){
		.samples = p->step.numbers,
		.count = p->step.count,
		.sync = p->step.pass == p->batch.accum,
		.index = p->step.pass,
		.per_gpu = p->batch.per_gpu,
		.epoch = (int) p->cursor.epoch,
		.step = p->cursor.step,
	};
	p->stage = PLX_STAGE_PASS;
	p->meter.told = false;
	p->meter.pass_begin_s = plx_now_s();
	return 1;
}

/* ---- reduce ---- */

static int make_room(struct pollux *p, size_t n)
{
	struct plx_step *step = &p->step;

	if (step->n == n && n)
		return 0;
	if (step->n || !n)
		return plx_fail(&p->err,
				"pollux_reduce() gets %zu numbers, want %zu", n,
				step->n ? step->n : 1);
	step->sum = calloc(n + EXTRA_COUNT, sizeof(*step->sum));
	step->previous = calloc(n, sizeof(*step->previous));
	if (!step->sum || !step->previous)
		return plx_fail(&p->err, "out of memory");
	step->n = n;
	return 0;
}

/* Add the pass to the step's sums. */
static void add_pass(struct pollux *p, const float *gradient, double loss)
{
	struct plx_step *step = &p->step;
	float *extra = step->sum + step->n;
	float weight = (float) step->count;
	double sqr = 0;

	if (step->pass == 0)
		memset(step->sum, 0,
		       (step->n + EXTRA_COUNT) * sizeof(*step->sum));
	if (step->count == 0)
		return;
	for (size_t i = 0; i < step->n; i++) {
		step->sum[i] += weight * gradient[i];
		sqr += (double) gradient[i] * (double) gradient[i];
	}
	extra[EXTRA_SQR] += (float) sqr;
	extra[EXTRA_PARTS]++;
	extra[EXTRA_LOSS] += weight * (float) loss;
	extra[EXTRA_SAMPLES] += weight;
}

/* Rank 0 says what is to happen after this step. */
static void add_wishes(struct pollux *p)
{
	float *extra = p->step.sum + p->step.n;
	enum plx_wish wish = plx_reporter_wish(p->reporter);

	if (p->coll->rank != 0)
		return;
	extra[EXTRA_STOP] = wish == PLX_WISH_STOP;
	extra[EXTRA_GONE] = wish == PLX_WISH_GONE;
	extra[EXTRA_SAVE] = plx_save_due(p);
	extra[EXTRA_PER_GPU] = (float) p->wanted.per_gpu;
	extra[EXTRA_ACCUM] = (float) p->wanted.accum;
}

static void take_wishes(struct pollux *p)
{
	const float *extra = p->step.sum + p->step.n;

	p->stop = extra[EXTRA_STOP] > 0;
	p->gone = extra[EXTRA_GONE] > 0;
	p->save = extra[EXTRA_SAVE] > 0;
	p->wanted.per_gpu = (int) extra[EXTRA_PER_GPU];
	p->wanted.accum = (int) extra[EXTRA_ACCUM];
}

/* AdaScale's learning rate; a smaller rest of an epoch uses the tuned one. */
static double scaled_lr(const struct pollux *p)
{
	double scale = (double) p->step.batch / p->limits.base_batch;
	struct plx_noise noise;

	if (scale <= 1 || !plx_noise_get(&p->profile.tracker, &noise))
		return p->config.lr;
	return p->config.lr * plx_noise_gain(&noise, scale);
}

static int synchronise(struct pollux *p, float *gradient)
{
	struct plx_step *step = &p->step;
	const float *extra = step->sum + step->n;
	double begin_s;
	float scale;

	add_wishes(p);
	begin_s = plx_now_s();
	if (p->coll->ops->sum(p->coll, step->sum, step->n + EXTRA_COUNT,
			      &p->err) < 0)
		return -1;
	p->meter.sync_s = plx_now_s() - begin_s;
	if ((uint64_t) extra[EXTRA_SAMPLES] != step->batch)
		return plx_fail(&p->err,
				"ranks disagree on the step: %.0f samples, "
				"want %" PRIu64,
				(double) extra[EXTRA_SAMPLES], step->batch);
	scale = 1.0f / (float) step->batch;
	for (size_t i = 0; i < step->n; i++)
		gradient[i] = step->sum[i] * scale;
	step->loss = (double) extra[EXTRA_LOSS] / (double) step->batch;
	take_wishes(p);
	plx_tune_noise(p, gradient, (double) extra[EXTRA_SQR],
		       (double) extra[EXTRA_PARTS]);
	step->lr = scaled_lr(p);
	return 0;
}

int pollux_reduce(struct pollux *p, float *gradient, size_t n, double loss)
{
	if (p->stage != PLX_STAGE_PASS)
		return misuse(p, "pollux_reduce()");
	p->meter.pass_s = plx_now_s() - p->meter.pass_begin_s;
	p->meter.sync_s = 0;
	if (make_room(p, n) < 0)
		return plx_end(p);
	add_pass(p, gradient, loss);
	if (p->step.pass < p->batch.accum) {
		p->stage = PLX_STAGE_ADDED;
		return 0;
	}
	if (synchronise(p, gradient) < 0)
		return plx_end(p);
	p->stage = PLX_STAGE_SYNCED;
	return 0;
}

void pollux_timing(struct pollux *p, double pass_s, double sync_s)
{
	p->meter.pass_s = pass_s;
	p->meter.sync_s = sync_s;
	p->meter.told = true;
}

/* ---- commit ---- */

static void count_step(struct pollux *p, double now_s)
{
	struct plx_meter *m = &p->meter;
	double iter_s =
		m->told ? m->pass_s + m->sync_s : now_s - m->pass_begin_s;
	struct plx_row *row = row_of_pass(p);

	if (!row)
		return;
	plx_row_add_pass(row, m->pass_s);
	plx_row_add_step(row, iter_s);
}

/* Samples a second by the wall clock, smoothed over some ten steps. */
static void count_rate(struct pollux *p, double now_s)
{
	struct plx_meter *m = &p->meter;
	double rate;

	if (m->commit_s && now_s > m->commit_s) {
		rate = (double) p->step.batch / (now_s - m->commit_s);
		m->samples_per_s = m->samples_per_s
					   ? 0.9 * m->samples_per_s + 0.1 * rate
					   : rate;
	}
	m->commit_s = now_s;
}

/* The first step since the start: what did it cost to get here? */
static void begin(struct pollux *p, double now_s)
{
	if (p->began)
		return;
	p->began = true;
	p->profile.restart_s = now_s - p->meter.created_s;
	plx_reporter_say(p->reporter, PLX_MSG_BEGAN);
}

static void change_batch(struct pollux *p)
{
	if (p->meter.settling)
		p->meter.settling--;
	if (p->wanted.per_gpu == p->batch.per_gpu &&
	    p->wanted.accum == p->batch.accum)
		return;
	p->batch = p->wanted;
	p->meter.settling = 1;
	p->step.previous_sqr = 0;
	plx_say(p, "step %" PRIu64 ": batch %" PRIu64 " = %d x %d x %d",
		p->cursor.step,
		plx_batch_total(&p->limits, p->shape.gpus, p->batch),
		p->shape.gpus, p->batch.per_gpu, p->batch.accum + 1);
}

int pollux_commit(struct pollux *p)
{
	double now_s = plx_now_s();

	if (p->stage != PLX_STAGE_SYNCED)
		return misuse(p, "pollux_commit()");
	count_step(p, now_s);
	count_rate(p, now_s);
	if (plx_samplelog_commit(p->log, &p->cursor, &p->err) < 0)
		return plx_end(p);
	plx_cursor_advance(&p->cursor, p->step.batch);
	begin(p, now_s);
	change_batch(p);
	plx_tune(p);
	p->stage = PLX_STAGE_BETWEEN;
	return 0;
}
