/* SPDX-License-Identifier: MIT */
/*
 * handover.c - from one generation of ranks to the next: who says what when
 *
 * Only rank 0 hears the launcher. What it hears while the others wait it
 * tells them, and so that no rank uses up a CPU that trainings beside it
 * could use, all of them sleep meanwhile.
 */
#include <config.h>

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "agent/state/handover.h"
#include "agent/state/handover_parts.h"
#include "agent/state/restore.h"
#include "agent/state/save.h"
#include "agent/state/say.h"
#include "wire/env.h"
#include "wire/message.h"
#include "wire/now.h"

#define LAID_S	5.0 /* the owner of a node's memory is so late at most */
#define DEFER_S 5.0 /* a hand waits for memory so long at most */
#define LOOK_S	1.0 /* between looks whether we are told to leave */

/* ---- the launcher's word, for all ranks ---- */

struct word {
	unsigned int wish;   /* of enum plx_wish; 0: we are told to leave */
	uint64_t generation; /* whose state to take; 0: a checkpoint */
};

/* Rank 0: wait for one of these. */
static void hear(struct pollux *p, unsigned int any, struct word *word)
{
	const volatile sig_atomic_t *leaving = p->coll->leaving;

	if (!p->reporter)
		word->wish = PLX_WISH_GONE;
	while (!word->wish && !(leaving && *leaving))
		word->wish = plx_reporter_wait(p->reporter, any, LOOK_S);
	word->generation = (uint64_t) plx_reporter_source(p->reporter);
}

static int await(struct pollux *p, unsigned int any, struct word *word)
{
	memset(word, 0, sizeof(*word));
	if (p->coll->rank == 0)
		hear(p, any, word);
	if (p->coll->ops->spread_idle(p->coll, word, sizeof(*word), &p->err) <
	    0)
		return plx_fault(p, POLLUX_ECOMM);
	if (word->wish)
		return 0;
	plx_fail(&p->err, "told to leave while waiting for the launcher");
	return plx_fault(p, POLLUX_EGONE);
}

/* How many ranks say so; -1: lost. */
static int count_of(struct pollux *p, bool so)
{
	float sum = so;

	if (p->coll->ops->sum(p->coll, &sum, 1, &p->err) < 0)
		return plx_fault(p, POLLUX_ECOMM);
	return (int) sum;
}

/* ---- give ---- */

void plx_handover_prepare(struct pollux *p)
{
	struct plx_handover *h = plx_handover_get(p);
	char name[PLX_NODEMEM_NAME];
	struct plx_error err;

	/* Parts of a domain go by the disk's cache: each rank takes others. */
	if (!h || h->mem || p->registered.domain.part)
		return;
	plx_handover_pack(p);
	if (plx_nodemem_name(name, h->facts.job, h->facts.generation, &err) <
	    0) {
		plx_say(p, "%s", err.text);
		return;
	}
	h->mem = h->slice.mine == 0
			 ? plx_nodemem_create(
				   name, plx_memory_image_size(&h->parts), &err)
			 : plx_nodemem_expect(name, &err);
	if (!h->mem)
		plx_say(p, "%s", err.text);
}

unsigned int plx_handover_defer(struct pollux *p, unsigned int wishes)
{
	struct plx_handover *h = p->handover;
	bool late;

	if (!h || p->registered.domain.part)
		return wishes;
	if (wishes & PLX_WISH_HAND)
		h->hand_s = plx_now_s();
	if (!h->hand_s)
		return wishes;
	wishes &= ~(unsigned int) PLX_WISH_HAND;
	late = plx_now_s() > h->hand_s + DEFER_S;
	if (!late && !h->mem)
		return wishes | PLX_WISH_PREPARE;
	if (!late && !plx_nodemem_settled(h->mem))
		return wishes;
	h->hand_s = 0;
	return wishes | PLX_WISH_HAND;
}

/* One rank a host lays out what all of them write. */
static int lay(struct pollux *p, struct plx_error *err)
{
	struct plx_handover *h = p->handover;

	if (h->slice.mine != 0) {
		if (plx_memory_image_wait(plx_nodemem_base(h->mem),
					  PLX_MEMORY_IMAGE_LAID, LAID_S))
			return plx_nodemem_follow(h->mem, err);
		return plx_fail(err, "the first rank here is late");
	}
	if (plx_nodemem_grow(h->mem, plx_memory_image_size(&h->parts), err) < 0)
		return -1;
	plx_memory_image_lay(plx_nodemem_base(h->mem), &h->parts, &h->facts);
	return 0;
}

/*
 * Any rank of a node may come to write what is handed, but rank 0 alone knows
 * what was measured, and when state was flushed last.
 */
static int pack(struct pollux *p)
{
	struct plx_handover *h = plx_handover_get(p);

	if (!h)
		return plx_fault(p, POLLUX_ENOMEM);
	plx_handover_prepare(p);
	plx_handover_pack(p);
	if (p->coll->ops->spread(p->coll, &h->handed, sizeof(h->handed),
				 &p->err) < 0)
		return plx_fault(p, POLLUX_ECOMM);
	return 0;
}

static int copy(struct pollux *p, struct plx_error *err)
{
	struct plx_handover *h = p->handover;

	if (!h->mem)
		return plx_fail(err, "no memory to hand state over in");
	if (plx_nodemem_ready(h->mem, err) < 0 || lay(p, err) < 0)
		return -1;
	return plx_memory_image_write(plx_nodemem_base(h->mem), &h->parts,
				      h->slice, err);
}

/* Memory did not do, or nobody waits for it: the next start finds a file. */
static int leave_cold(struct pollux *p, enum plx_save_kind kind)
{
	int rc = plx_save(p, kind);

	if (rc < 0)
		return rc;
	if (rc > 0) {
		plx_fail(&p->err, "state could not be saved");
		return plx_fault(p, POLLUX_ESTATE);
	}
	plx_save_report(p, "");
	if (p->coll->ops->barrier(p->coll, &p->err) < 0)
		return plx_fault(p, POLLUX_ECOMM);
	p->stopped = true;
	return 0;
}

/* Under the number that we have now, if that is another: memory too. */
static int train_on(struct pollux *p, uint64_t generation)
{
	struct plx_handover *h = p->handover;

	if (plx_restore_resume(p, generation) < 0)
		return -1;
	plx_memory_image_clear(plx_nodemem_base(h->mem));
	if (generation > h->facts.generation) {
		plx_nodemem_destroy(h->mem);
		h->mem = NULL;
		h->facts.generation = generation;
	}
	plx_reporter_say(p->reporter, PLX_MSG_RESUMED);
	plx_say(p, "nobody took the state of step %" PRIu64 ", training on",
		p->cursor.step);
	return 1;
}

/* The state is in memory; it must stay there until somebody has it. */
static int hold(struct pollux *p)
{
	struct word word;

	if (await(p, PLX_WISH_LEAVE | PLX_WISH_RESUME | PLX_WISH_STOP, &word) <
	    0)
		return -1;
	if (word.wish & PLX_WISH_LEAVE) {
		p->stopped = true;
		return 0;
	}
	if (word.wish & PLX_WISH_RESUME)
		return train_on(p, word.generation);
	if (word.wish & PLX_WISH_STOP)
		return leave_cold(p, PLX_SAVE_QUICK);
	if (leave_cold(p, PLX_SAVE_FLUSHED) < 0)
		return -1;
	plx_fail(&p->err, "the launcher is gone; state is saved");
	return plx_fault(p, POLLUX_EGONE);
}

int plx_handover_give(struct pollux *p)
{
	double begin_s = plx_now_s();
	struct plx_error err = { .text = "" };
	int failed;

	if (p->registered.domain.part)
		return leave_cold(p, PLX_SAVE_QUICK);
	if (pack(p) < 0)
		return -1;
	failed = count_of(p, copy(p, &err) < 0);
	if (failed < 0)
		return -1;
	if (failed) {
		plx_say(p, "state goes to disk, not to memory: %s",
			err.text[0] ? err.text : "another rank failed");
		return leave_cold(p, PLX_SAVE_QUICK);
	}
	/* The sum has told: all slices are written. */
	if (p->handover->slice.mine == 0)
		plx_memory_image_commit(plx_nodemem_base(p->handover->mem));
	if (p->coll->rank == 0) {
		const char *base = plx_nodemem_base(p->handover->mem);

		p->saved.crc = plx_memory_image_crc(base);
		p->saved.bytes = plx_memory_image_bytes(base);
		p->saved.seconds = plx_now_s() - begin_s;
	}
	plx_save_report(p, " held=1");
	return hold(p);
}

/* ---- take ---- */

/* Pages of memory that is filled later are got now. */
static void touch(const struct pollux *p)
{
#ifdef MADV_POPULATE_WRITE
	uintptr_t page = (uintptr_t) sysconf(_SC_PAGESIZE);

	for (int i = 0; i < p->registered.tensor_count; i++) {
		const struct plx_tensor *t = &p->registered.tensors[i];
		uintptr_t from = ((uintptr_t) t->data + page - 1) / page * page;
		uintptr_t to = ((uintptr_t) t->data + t->bytes) / page * page;

		if (t->memory == POLLUX_HOST && from < to)
			madvise((void *) from, to - from, MADV_POPULATE_WRITE);
	}
#else
	(void) p;
#endif
}

static int get_ready(struct pollux *p)
{
	struct plx_handover *h = plx_handover_get(p);

	if (!h)
		return -1;
	touch(p);
	h->fetch = plx_fetch_start(p, &p->err);
	if (!h->fetch || p->coll->ops->barrier(p->coll, &p->err) < 0)
		return -1;
	plx_reporter_say(p->reporter, PLX_MSG_READY);
	return 0;
}

static int take_from(struct pollux *p, const struct word *word)
{
	int here = plx_fetch_finish(p, word->generation, &p->err);

	if (plx_fetch_spread(p, here) < 0 || plx_handover_unpack(p) < 0)
		return plx_fault(p, POLLUX_ESTATE);
	p->restored = true;
	plx_say(p,
		"restored step %" PRIu64 ", %" PRIu64 " samples used, crc "
		"%08" PRIx32 " as saved",
		p->cursor.step, plx_cursor_used(&p->cursor), p->saved.crc);
	return 1;
}

static int take(struct pollux *p)
{
	struct word word;

	if (get_ready(p) < 0 ||
	    await(p, PLX_WISH_GO | PLX_WISH_STOP | PLX_WISH_LEAVE, &word) < 0)
		return -1;
	/* What a start costs counts from here: nobody stood still before. */
	p->meter.created_s = plx_now_s();
	if (!(word.wish & PLX_WISH_GO)) {
		plx_fail(&p->err, "started ahead, but %s",
			 word.wish & PLX_WISH_GONE
				 ? "the launcher is gone"
				 : "the launcher wants us no more");
		return plx_fault(p, POLLUX_EGONE);
	}
	if (word.generation)
		return take_from(p, &word);
	p->handover->spoilt = plx_fetch_touched(p->handover->fetch);
	return 0;
}

bool plx_handover_spoilt(const struct pollux *p)
{
	return p->handover && p->handover->spoilt;
}

int plx_handover_take(struct pollux *p)
{
	const char *warm = getenv(PLX_ENV_WARM);
	int rc;

	/* Who has no launcher will never hand over. */
	if (getenv(PLX_ENV_SOCKET) && !plx_handover_get(p))
		return -1;
	if (!warm || !*warm || !strcmp(warm, "0"))
		return 0;
	rc = take(p);
	/* What was got ahead is of no use from here on. */
	if (p->handover) {
		plx_fetch_destroy(p->handover->fetch);
		p->handover->fetch = NULL;
	}
	return rc;
}
