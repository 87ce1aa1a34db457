/* SPDX-License-Identifier: MIT */
/* store.c - what is known of a run's checkpoints, by all who write or read them
 */
#include <config.h>

#include <inttypes.h>
#include <stdio.h>

#include "agent/comm/report.h"
#include "agent/state/say.h"
#include "agent/state/store.h"
#include "wire/message.h"
#include "wire/now.h"

/* ---- where training is, as a manifest says it ---- */

struct plx_facts plx_store_facts(const struct pollux *p,
				 const struct plx_cursor *cursor, bool flush)
{
	double since_s = plx_now_s() - p->meter.flushed_s;

	return (struct plx_facts){
		.step = cursor->step,
		.epoch = cursor->epoch,
		.position = cursor->position,
		.dataset = cursor->samples,
		.seed = cursor->seed,
		.generation = p->store->fence.own.generation,
		.ranks = (uint64_t) p->coll->ranks,
		.flushed = flush ? cursor->step : p->flushed,
		.unflushed_ms =
			flush || since_s < 0 ? 0 : (uint64_t) (1e3 * since_s),
		.cost_us = (uint64_t) (1e6 * p->store->cost_s),
	};
}

int plx_store_fits(const struct pollux *p, const struct plx_facts *facts,
		   struct plx_error *err)
{
	if (facts->dataset != p->cursor.samples)
		return plx_fail(err,
				"its dataset had %" PRIu64
				" samples, this one has %" PRIu64,
				facts->dataset, p->cursor.samples);
	if (facts->seed != p->cursor.seed)
		return plx_fail(err, "its seed was %" PRIu64 ", not %" PRIu64,
				facts->seed, p->cursor.seed);
	if (facts->position >= p->cursor.samples)
		return plx_fail(err, "its position is outside the dataset");
	return 0;
}

/* ---- one save ---- */

struct plx_ckpt_order plx_store_order(const struct pollux *p,
				      struct plx_writer_rank who)
{
	return (struct plx_ckpt_order){
		.who = who,
		.folder = p->folder,
		.keep = p->config.checkpoint_keep,
	};
}

void plx_store_tag(const struct plx_store *store, const char *kind,
		   char tag[PLX_TAG_SIZE])
{
	snprintf(tag, PLX_TAG_SIZE, "g%" PRIu64 ".%s%" PRIu32 "-%08" PRIx32,
		 store->fence.own.generation, kind, store->serial,
		 store->number);
}

void plx_outcome_fill(struct plx_outcome *outcome,
		      const struct plx_ckpt_write *job, int rc)
{
	outcome->rc = rc < 0 ? PLX_SAVE_LATER : 0;
	if (rc == PLX_FENCED)
		outcome->rc = POLLUX_ESTATE;
	outcome->crc = job->facts.crc;
	outcome->flushed = job->flush;
	outcome->step = job->facts.step;
	outcome->bytes = job->state_bytes;
	snprintf(outcome->left, sizeof(outcome->left), "%s", job->tmp);
}

static void note_success(struct pollux *p, const struct plx_outcome *o)
{
	struct plx_store *s = p->store;

	s->failures = 0;
	s->has_newest = true;
	s->newest = o->step;
	s->is_flushed = o->flushed;
	s->crc = o->crc;
	s->disk_s = o->seconds;
	p->saved.crc = o->crc;
	p->saved.bytes = o->bytes;
	p->saved.seconds = o->seconds;
	if (o->flushed) {
		p->flushed = o->step;
		/* From its end: slow storage must not have us save always. */
		p->meter.flushed_s = plx_now_s();
	}
	plx_say(p, "saved step %" PRIu64 ", crc %08" PRIx32, o->step, o->crc);
	plx_reporter_say(p->reporter,
			 PLX_MSG_KEPT " step=%" PRIu64
				      " bytes=%zu seconds=%.6f",
			 o->step, o->bytes, o->seconds);
}

void plx_store_note(struct pollux *p, const struct plx_outcome *outcome)
{
	struct plx_store *s = p->store;

	s->tried_s = plx_now_s();
	snprintf(s->left, sizeof(s->left), "%s",
		 outcome->rc > 0 ? outcome->left : "");
	if (outcome->rc == 0) {
		note_success(p, outcome);
		return;
	}
	if (outcome->rc < 0) {
		s->fenced = true;
		s->why = outcome->err;
		return;
	}
	s->failures++;
	if (s->has_newest)
		plx_say(p,
			"cannot save step %" PRIu64 " in %.120s: %s; the "
			"checkpoint of step %" PRIu64 " stands",
			outcome->step, p->folder, outcome->err.text, s->newest);
	else
		plx_say(p, "cannot save step %" PRIu64 " in %.120s: %s",
			outcome->step, p->folder, outcome->err.text);
}
