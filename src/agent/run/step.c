/* SPDX-License-Identifier: MIT */
/*
 * step.c - the loop: next, commit
 *
 * What ranks agreed on (step_votes.c) takes effect after the commit of the step
 * that carried it, never inside one.
 */
#include <config.h>

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agent/base/callback.h"
#include "agent/base/sized.h"
#include "agent/comm/pulse.h"
#include "agent/gradient/gradient.h"
#include "agent/gradient/gradient_gpu.h"
#include "agent/gradient/memory.h"
#include "agent/gradient/rate.h"
#include "agent/gradient/step_size.h"
#include "agent/run/start.h"
#include "agent/run/tune.h"
#include "agent/state/agent.h"
#include "agent/state/call.h"
#include "agent/state/handover.h"
#include "agent/state/save.h"
#include "agent/state/say.h"
#include "wire/message.h"
#include "wire/now.h"

/* Ranks that start beside disturb for that long, at most. */
#define BESIDE_S 30.0

/* From a commit to the next step: longer is worth telling. */
#define BETWEEN_S 1.0

/* Training that learns nothing is not to end as if it had. */
#define SKIPPED_MAX 64

/* ---- between steps ---- */

/* All ranks have written their logs and left the step. */
static int save(struct pollux *p, enum plx_save_kind kind)
{
	int rc;

	if (p->coll->ops->barrier(p->coll, &p->err) < 0)
		return plx_fault(p, POLLUX_ECOMM);
	rc = plx_save(p, kind);
	return rc < 0 ? plx_fault(p, (enum pollux_status) rc) : rc;
}

static int leave(struct pollux *p)
{
	bool gone = p->wishes & PLX_WISH_GONE;
	bool flush = gone || p->config.checkpoint_every_s == 0;

	/*
	 * The next start reads what this host's memory holds, and flushes when
	 * that is due; but nobody else does without periodic saves.
	 */
	if (save(p, flush ? PLX_SAVE_FLUSHED : PLX_SAVE_QUICK) != 0)
		return -1;
	plx_save_report(p, "");
	/* Nobody may leave, still less fail, while rank 0 saves. */
	if (p->coll->ops->barrier(p->coll, &p->err) < 0)
		return plx_fault(p, POLLUX_ECOMM);
	if (gone) {
		plx_fail(&p->err, "the launcher is gone; state is saved");
		return plx_fault(p, POLLUX_EGONE);
	}
	p->stopped = true;
	plx_run_ended();
	plx_stage(p, PLX_STAGE_ENDED);
	return 0;
}

/* Whoever starts a script once more in its folder wonders why it ends. */
static void say_trained_before(const struct pollux *p)
{
	char what[48] = "done";

	if (!p->config.steps)
		snprintf(what, sizeof(what), "trained: all %d epochs",
			 p->config.epochs);
	if (p->restored && !p->meter.first_s)
		plx_say(p,
			"already %s, in %" PRIu64 " steps; delete %s to begin "
			"anew, or ask for more %s",
			what, p->cursor.step, p->folder,
			p->config.steps ? "steps" : "epochs");
}

static int finish(struct pollux *p)
{
	say_trained_before(p);
	if (save(p, PLX_SAVE_FLUSHED) != 0)
		return -1;
	plx_reporter_say(p->reporter, PLX_MSG_DONE);
	plx_run_ended();
	plx_stage(p, PLX_STAGE_ENDED);
	return 0;
}

static int relog(struct pollux *p)
{
	plx_samplelog_destroy(p->log);
	p->log = NULL;
	return plx_samplelog_create(&p->log, p->coll, p->cursor.step, &p->err);
}

/* 1: train on, 0: leave, -1: failed. */
static int hand_over(struct pollux *p)
{
	int rc;

	p->wishes &= ~PLX_WISH_HAND;
	rc = plx_handover_give(p);
	if (rc == 0) {
		p->stopped = true;
		plx_stage(p, PLX_STAGE_ENDED);
	}
	/* What was waited for is no part of any step. */
	p->meter.commit_s = 0;
	p->meter.settling = 1;
	/* The next ranks may have logged steps that now are ours. */
	if (rc > 0 && relog(p) < 0)
		return -1;
	return rc;
}

/* What all ranks were asked for. 1: train on, 0: leave, -1: failed. */
static int obey(struct pollux *p)
{
	unsigned int wishes = p->wishes;
	int rc = 1;

	if (plx_rate_finished(p))
		return finish(p);
	/* What was asked for is done when nobody holds any more. */
	if (p->held)
		return 1;
	if (wishes & PLX_WISH_HAND)
		rc = hand_over(p);
	else if (wishes & (PLX_WISH_STOP | PLX_WISH_GONE))
		return leave(p);
	if (rc <= 0)
		return rc;
	p->wishes &= ~(PLX_WISH_SAVE | PLX_WISH_PERIODIC);
	if (wishes & PLX_WISH_SAVE)
		rc = save(p, PLX_SAVE_FLUSHED);
	else if (wishes & PLX_WISH_PERIODIC)
		rc = save(p, PLX_SAVE_ASYNC);
	return rc < 0 ? -1 : 1;
}

static int between_steps(struct pollux *p)
{
	int rc = obey(p);

	if (rc <= 0)
		return rc;
	p->step.batch = plx_cursor_batch(&p->cursor, plx_step_total(p));
	p->step.pass = -1;
	plx_gradient_begin(p);
	return 1;
}

int pollux_finish(struct pollux *p)
{
	if (!p)
		return POLLUX_EINVAL;
	if (p->stage == PLX_STAGE_NEW || p->stage == PLX_STAGE_SYNCED ||
	    p->stage == PLX_STAGE_ENDED ||
	    (p->stage == PLX_STAGE_PASS && p->step.begun))
		return plx_misuse(p, "pollux_finish()");
	plx_samplelog_drop(p->log);
	return finish(p) < 0 ? plx_end(p) : 0;
}

/* ---- passes ---- */

/* Streams are told where to go on when that is not where they are. */
static int seek(struct pollux *p, const struct plx_range *part)
{
	const struct pollux_config *c = &p->config;
	bool follows = part->first == p->next.first &&
		       p->cursor.epoch == p->next_epoch && p->next.count;

	if (!c->seek || !p->cursor.sequential || !part->count)
		return 0;
	p->next = (struct plx_range){ part->first + part->count, 1 };
	p->next_epoch = p->cursor.epoch;
	if (follows || plx_call_seek(c, (int) p->cursor.epoch, part->first,
				     part->count) >= 0)
		return 0;
	plx_fail(&p->err,
		 "the program cannot go to sample %" PRIu64
		 " of epoch %" PRIu64,
		 part->first, p->cursor.epoch);
	return plx_fault(p, POLLUX_EINVAL);
}

static int allocate(struct pollux *p, uint64_t count)
{
	struct plx_agent_step *step = &p->step;
	uint64_t *more;

	if (count <= step->numbers_capacity)
		return 0;
	more = realloc(step->numbers, count * sizeof(*more));
	if (!more) {
		plx_fail(&p->err, "out of memory");
		return plx_fault(p, POLLUX_ENOMEM);
	}
	step->numbers = more;
	step->numbers_capacity = count;
	return 0;
}

/* This rank's samples of the pass. */
static int give_out(struct pollux *p, struct plx_range *part)
{
	struct plx_agent_step *step = &p->step;
	uint64_t ranks = (uint64_t) p->coll->ranks;
	uint64_t passes = (uint64_t) p->batch.accum + 1;
	uint64_t index =
		(uint64_t) step->pass * ranks + (uint64_t) p->coll->rank;
	uint64_t sum = 0;

	*part = plx_cursor_part(&p->cursor, step->batch, index, passes * ranks);
	/* The step is given up: no need to try again before it ends. */
	if (step->own.full)
		part->count = 0;
	if (allocate(p, part->count) < 0 || seek(p, part) < 0)
		return -1;
	for (uint64_t i = 0; i < part->count; i++) {
		step->numbers[i] =
			plx_cursor_sample(&p->cursor, part->first + i);
		sum += step->numbers[i];
	}
	step->count = part->count;
	return plx_samplelog_add(p->log, part, sum, &p->err);
}

/* Where to note how long this pass takes; NULL when that says nothing. */
static struct plx_profile_row *row_of_pass(struct pollux *p)
{
	/* The first step warms up. */
	if (p->coll->rank != 0 || p->meter.settling ||
	    p->meter.pass_begin_s < p->meter.alone_s || !plx_step_whole(p) ||
	    !p->step.count)
		return NULL;
	/* What it has, not per_gpu: a batch that does not divide has less. */
	return plx_profile_row(&p->profile, p->shape, (int) p->step.count,
			       p->cursor.step);
}

/* On a GPU it may still run: there the last pass of the step is timed. */
static void count_pass(struct pollux *p)
{
	struct plx_profile_row *row =
		p->gpu && !p->meter.told ? NULL : row_of_pass(p);

	if (row)
		plx_row_add_pass(row, p->meter.pass_s);
}

/* A pass did not fit into some rank's memory: smaller ones from now on. */
static int begin_anew(struct pollux *p)
{
	plx_samplelog_drop(p->log);
	if (plx_memory_shrink(p) < 0)
		return -1;
	p->step.has_previous = false;
	p->step.own.full = false;
	p->step.all.full = false;
	p->next.count = 0;
	p->meter.settling = 1;
	plx_stage(p, PLX_STAGE_BETWEEN);
	return 0;
}

/* What the program did since the last commit, as validating, is no step. */
static void report_busy(struct pollux *p)
{
	double now_s = plx_now_s();

	plx_pulse_waits(p->pulser);
	if (p->meter.commit_s && now_s - p->meter.commit_s > BETWEEN_S)
		plx_reporter_busy(p->reporter, p->cursor.step, now_s);
}

static const struct plx_sized passes = {
	.call = "pollux_next()",
	.name = "pass",
	.first = PLX_UP_TO(pollux_pass, step),
	.now = sizeof(struct pollux_pass),
};

int pollux_next_sized(struct pollux *p, struct pollux_pass *pass, size_t size)
{
	struct pollux_pass full;
	struct plx_range part;
	int more = 1;
	int rc = plx_given_output(p, &passes, pass, size);

	if (rc < 0)
		return rc;
	if (p->stage == PLX_STAGE_BETWEEN)
		report_busy(p);
	if (p->stage == PLX_STAGE_SYNCED && p->step.all.full)
		more = begin_anew(p) < 0 ? -1 : 1;
	if (more > 0 && p->stage == PLX_STAGE_BETWEEN)
		more = between_steps(p);
	else if (p->stage == PLX_STAGE_ADDED)
		count_pass(p);
	else if (more > 0)
		return plx_misuse(p, "pollux_next()");
	if (more <= 0)
		return more < 0 ? plx_end(p) : 0;
	p->step.pass++;
	p->loss_scale = p->loss_scale_next;
	if (give_out(p, &part) < 0)
		return plx_end(p);
	full = (struct pollux_pass){
		.samples = p->step.numbers,
		.count = p->step.count,
		.first = part.first,
		.sync = p->step.pass == p->batch.accum,
		.index = p->step.pass,
		.per_gpu = p->batch.per_gpu,
		.epoch = (int) p->cursor.epoch,
		.step = p->cursor.step,
	};
	plx_sized_fill(&passes, &full, pass, size);
	plx_stage(p, PLX_STAGE_PASS);
	p->meter.told = false;
	p->meter.pass_begin_s = plx_now_s();
	plx_gpu_pass_begins(p);
	if (!p->meter.first_s)
		p->meter.first_s = p->meter.pass_begin_s;
	return 1;
}

void pollux_timing(struct pollux *p, double pass_s, double sync_s)
{
	if (!p)
		return;
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
	struct plx_profile_row *row = row_of_pass(p);

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

/*
 * Skipped steps are usual while a loss scale is sought; many in a row, or one
 * without a scale, are not. No scale is halved so often.
 */
static int count_skipped(struct pollux *p)
{
	uint64_t n = p->step.all.bad ? ++p->skipped : (p->skipped = 0);
	bool power = n && !(n & (n - 1));

	if (power && (p->loss_scale == 1 || n >= 8))
		plx_say(p,
			"step %" PRIu64 ": the gradient is not finite, "
			"skipped (%" PRIu64 " in a row)",
			p->cursor.step, n);
	if (n < SKIPPED_MAX)
		return 0;
	plx_fail(&p->err,
		 "%" PRIu64
		 " steps in a row without a finite gradient: nothing "
		 "has been learned since step %" PRIu64,
		 n, p->cursor.step + 1 - n);
	return plx_fault(p, POLLUX_EINVAL);
}

/* The first step since the start: what did it cost to get here? */
static void begin(struct pollux *p, double now_s)
{
	if (p->began)
		return;
	p->began = true;
	p->profile.restart_s = now_s - p->meter.created_s;
	plx_reporter_say(p->reporter, PLX_MSG_BEGAN " idle=%.6f",
			 now_s - p->meter.first_s);
}

static void change_batch(struct pollux *p)
{
	uint64_t before;

	if (p->meter.settling)
		p->meter.settling--;
	if (p->wanted.per_gpu == p->batch.per_gpu &&
	    p->wanted.accum == p->batch.accum)
		return;
	before = plx_step_total(p);
	p->batch = p->wanted;
	p->meter.settling = 1;
	p->meter.changed = p->cursor.step;
	p->meter.grew = plx_step_total(p) > before;
	p->step.has_previous = false;
	plx_say(p, "step %" PRIu64 ": batch %" PRIu64 " = %d x %d x %d",
		p->cursor.step, plx_step_total(p), p->shape.gpus,
		p->batch.per_gpu, p->batch.accum + 1);
}

static void prepare(struct pollux *p)
{
	if (!(p->wishes & PLX_WISH_PREPARE) || p->held)
		return;
	p->wishes &= ~PLX_WISH_PREPARE;
	p->meter.alone_s = plx_now_s() + BESIDE_S;
	plx_handover_prepare(p);
}

/*
 * Rank 0 measures, but any rank may be the one that saves when others are lost.
 * Behind the commit: who waits here for a lost rank can still save it.
 */
static int share_profile(struct pollux *p)
{
	if (!(p->wishes & PLX_WISH_PROFILE))
		return 0;
	p->wishes &= ~PLX_WISH_PROFILE;
	if (p->coll->ops->spread(p->coll, &p->profile, sizeof(p->profile),
				 &p->err) < 0)
		return plx_fault(p, POLLUX_ECOMM);
	return 0;
}

int pollux_commit(struct pollux *p)
{
	double now_s = plx_now_s();

	if (!p)
		return POLLUX_EINVAL;
	if (p->stage != PLX_STAGE_SYNCED)
		return plx_misuse(p, "pollux_commit()");
	if (p->step.all.full)
		return begin_anew(p) < 0 ? plx_end(p) : 0;
	count_step(p, now_s);
	count_rate(p, now_s);
	if (plx_samplelog_commit(p->log, &p->cursor, &p->err) < 0 ||
	    count_skipped(p) < 0)
		return plx_end(p);
	plx_cursor_advance(&p->cursor, p->step.batch);
	p->profile.progress += p->step.gain;
	plx_memory_fits(p);
	plx_stage(p, PLX_STAGE_BETWEEN);
	if (share_profile(p) < 0)
		return plx_end(p);
	begin(p, now_s);
	plx_reporter_beat(p->reporter, p->cursor.step, now_s);
	plx_memory_follow(p);
	plx_rate_follow(p);
	prepare(p);
	change_batch(p);
	plx_tune(p, now_s);
	return 0;
}
