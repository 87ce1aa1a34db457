/* SPDX-License-Identifier: MIT */
/*
 * save.c - when and how all ranks save the state together
 *
 * Each writes its share into a folder of a temporary name; rank 0 adds the
 * manifest, looks at the fence and renames the folder. What one of them
 * cannot write is said once, and training goes on with the last good one.
 */
#include <config.h>

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agent/disk/folder.h"
#include "agent/state/alike.h"
#include "agent/state/background.h"
#include "agent/state/save.h"
#include "agent/state/sigterm.h"
#include "agent/state/store.h"
#include "core/model/interval.h"
#include "wire/message.h"
#include "wire/now.h"

#define ASSUMED_BYTES_PER_S 1e9	 /* before the first save */
#define RETRY_S		    30.0 /* after a failure, at most */

/* What rank 0 decides before a save. */
struct order {
	int rc; /* negative: leave */
	bool skip;
	struct plx_error err;
};

/* ---- when ---- */

static double interval_s(const struct pollux *p)
{
	const struct plx_store *s = p->store;
	struct plx_interval job = {
		.cost_s = s->cost_s,
		.disk_s = s->disk_s,
		.mtbf_s = p->config.mtbf_s,
		.nodes = p->coll->nodes,
	};

	if (p->config.checkpoint_every_s >= 0)
		return p->config.checkpoint_every_s;
	if (!job.cost_s)
		job.cost_s = (double) plx_registered_bytes(&p->registered) /
			     ASSUMED_BYTES_PER_S;
	return plx_interval_best(&job);
}

bool plx_save_due(struct pollux *p)
{
	struct plx_store *s = p->store;
	double every_s;
	double last_s;

	if (!s || !p->folder[0] || p->coll->rank != 0)
		return false;
	plx_background_look(p);
	if (s->background.begun)
		return false;
	if (s->fenced)
		return true;
	every_s = interval_s(p);
	if (every_s <= 0)
		return false;
	/* After the look, which may have seen the last one end. */
	last_s = p->meter.flushed_s;
	if (s->failures) {
		last_s = s->tried_s;
		every_s = fmin(every_s, RETRY_S);
	}
	return plx_now_s() > last_s + every_s;
}

/* ---- how ---- */

/* A state that is there need not be written again, at most flushed. */
static bool is_there(struct pollux *p, bool flush)
{
	const struct plx_folder_entry entry = { .step = p->cursor.step };
	struct plx_store *s = p->store;
	char name[PLX_FOLDER_NAME];

	plx_folder_name(&entry, name);
	if (!s->has_newest || s->newest != entry.step ||
	    !plx_folder_has(p->folder, name))
		return false;
	if (flush && !s->is_flushed) {
		if (plx_folder_flush_one(p->folder, name, true, NULL) < 0 ||
		    plx_folder_flush(p->folder, NULL) < 0)
			return false;
		s->is_flushed = true;
		p->flushed = entry.step;
	}
	if (flush)
		p->meter.flushed_s = plx_now_s();
	p->saved.crc = s->crc;
	p->saved.bytes = plx_registered_bytes(&p->registered);
	p->saved.seconds = 0;
	return true;
}

static int agree(struct pollux *p, struct order *order, bool flush)
{
	struct plx_store *s = p->store;

	*order = (struct order){ .rc = 0 };
	if (p->coll->rank == 0) {
		if (s->fenced) {
			order->rc = POLLUX_ESTATE;
			order->err = s->why;
		} else {
			order->skip = is_there(p, flush);
		}
		if (s->left[0])
			plx_folder_remove(p->folder, s->left);
		s->left[0] = '\0';
	}
	if (p->coll->ops->spread(p->coll, order, sizeof(*order), &p->err) < 0)
		return POLLUX_ECOMM;
	if (order->rc < 0)
		plx_fail(&p->err, "%s", order->err.text);
	return order->rc;
}

/* What the program is told, should it have to end with that. */
static void fail_save(struct pollux *p, const struct plx_outcome *o)
{
	char stands[64] = "";

	if (o->stands)
		snprintf(stands, sizeof(stands),
			 "; the checkpoint of step %" PRIu64 " stands",
			 o->newest);
	plx_fail(&p->err, "cannot save step %" PRIu64 " in %.80s: %.100s%s",
		 o->step, p->folder, o->err.text, stands);
}

static int save_now(struct pollux *p, struct plx_ckpt_write *job,
		    double begin_s)
{
	const struct plx_coll_ops *ops = p->coll->ops;
	struct plx_outcome outcome = { .rc = PLX_SAVE_LATER };
	struct plx_report *reports = NULL;
	int rc;

	plx_job_write(job);
	/* Perhaps for want of memory that only a copy would need. */
	if (job->report.rc < 0 && plx_background_forget(p->store)) {
		job->report.rc = 0;
		plx_job_write(job);
	}
	if (p->coll->rank == 0)
		reports = calloc((size_t) p->coll->ranks, sizeof(*reports));
	if (p->coll->rank == 0 && !reports) {
		plx_fail(&p->err, "out of memory");
		return POLLUX_ENOMEM;
	}
	rc = ops->gather(p->coll, &job->report, sizeof(job->report), reports,
			 &p->err);
	if (rc == 0 && p->coll->rank == 0) {
		plx_outcome_fill(&outcome, job,
				 plx_job_commit(job, reports, &p->store->fence,
						&outcome.err));
		outcome.seconds = plx_now_s() - begin_s;
		outcome.stands = p->store->has_newest;
		outcome.newest = p->store->newest;
		plx_store_note(p, &outcome);
	}
	free(reports);
	if (rc < 0 ||
	    ops->spread(p->coll, &outcome, sizeof(outcome), &p->err) < 0)
		return POLLUX_ECOMM;
	if (outcome.rc)
		fail_save(p, &outcome);
	return outcome.rc;
}

/* What it costs is what training waits for. */
static void count_cost(struct pollux *p, double begin_s)
{
	struct plx_store *s = p->store;
	double cost_s = plx_now_s() - begin_s;

	s->cost_s = s->cost_s ? 0.5 * s->cost_s + 0.5 * cost_s : cost_s;
}

static struct plx_ckpt_write *begin_job(struct pollux *p,
					enum plx_save_kind kind,
					struct plx_ckpt_write *job)
{
	const struct plx_writer_rank who = { p->coll->rank, p->coll->ranks };
	const struct plx_ckpt_order order = plx_store_order(p, who);
	bool flush = kind != PLX_SAVE_QUICK;
	struct plx_facts facts = plx_store_facts(p, &p->cursor, flush);

	p->store->serial++;
	(void) plx_job_init(job, &p->registered, &order, &facts, &p->profile);
	job->flush = flush;
	plx_store_tag(p->store, "", job->tag);
	return job;
}

static int save(struct pollux *p, enum plx_save_kind kind)
{
	double begin_s = plx_now_s();
	struct plx_ckpt_write job;
	int rc;

	if (kind == PLX_SAVE_ASYNC) {
		begin_job(p, kind, &p->store->background.job);
		plx_background_begin(p);
		count_cost(p, begin_s);
		return 0;
	}
	rc = save_now(p, begin_job(p, kind, &job), begin_s);
	plx_job_release(&job);
	return rc;
}

int plx_save_wait(struct pollux *p)
{
	if (!p->folder[0] || !p->store)
		return 0;
	return plx_background_end(p) < 0 ? POLLUX_ECOMM : 0;
}

static int save_all(struct pollux *p, enum plx_save_kind kind)
{
	struct order order;
	int rc = plx_save_wait(p);

	if (rc == 0)
		rc = agree(p, &order, kind != PLX_SAVE_QUICK);
	if (rc < 0 || order.skip)
		return rc;
	if (plx_alike(p) < 0)
		return p->code ? (int) p->code : POLLUX_ESTATE;
	return save(p, kind);
}

int plx_save(struct pollux *p, enum plx_save_kind kind)
{
	double timeout_s = p->coll->timeout_s;
	int rc;

	if (!p->folder[0])
		return 0;
	/* Ranks wait for a slow disk as long as it takes: none is lost. */
	p->coll->timeout_s = 0;
	rc = save_all(p, kind);
	p->coll->timeout_s = timeout_s;
	return rc;
}

void plx_save_report(struct pollux *p, const char *held)
{
	plx_reporter_say(p->reporter,
			 PLX_MSG_SAVED " step=%" PRIu64 " samples=%" PRIu64
				       " crc=%08" PRIx32
				       " bytes=%zu seconds=%.6f idle=%.6f%s",
			 p->cursor.step, plx_cursor_used(&p->cursor),
			 p->saved.crc, p->saved.bytes, p->saved.seconds,
			 plx_now_s() - p->meter.commit_s, held);
}

void plx_save_release(struct pollux *p)
{
	struct plx_store *s = p->store;

	if (!s)
		return;
	plx_guard_end(p);
	plx_background_release(s);
	pthread_cond_destroy(&s->moved);
	pthread_mutex_destroy(&s->lock);
	free(s);
	p->store = NULL;
}
