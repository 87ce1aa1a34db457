/* SPDX-License-Identifier: MIT */
/*
 * handover_fetch.c - getting state from memory, ahead of the word to do so
 *
 * Each rank has a thread that finds the old ranks' memory, maps it and sleeps
 * until the state is there. It then checks its slice and copies all arrays, a
 * GPU's too, with as many threads as the rank has processors: when the word to
 * go has come through two launchers' ends of sockets, most is done.
 */
#include <config.h>

#include <inttypes.h>
#include <poll.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "agent/gpu/device.h"
#include "agent/state/handover_parts.h"
#include "agent/state/say.h"
#include "wire/thread.h"

#define LOOK_MS	 50   /* between looks for the memory */
#define WAIT_S	 0.05 /* for the state, between looks whether to end */
#define COMMIT_S 5.0  /* the last of the old ranks is so late at most */
#define BACK_MAX 8    /* generations before ours that may hold state */
#define PIECE	 ((size_t) 1 << 20)

struct plx_fetch {
	const struct plx_parts *parts;
	struct plx_memory_image_facts facts; /* ours */
	struct plx_slice slice;
	pthread_t thread;
	bool running;
	int quit; /* eventfd */
	/* The thread's until it is joined: */
	struct plx_nodemem *mem;
	uint64_t generation; /* whose mem is */
	int loaded;	     /* as plx_fetch_finish(); 0: not yet */
	uint64_t step;	     /* of what is loaded */
	struct plx_error err;
};

/* ---- the thread ---- */

static bool quits(const struct plx_fetch *f, int wait_ms)
{
	struct pollfd p = { .fd = f->quit, .events = POLLIN };

	return poll(&p, 1, wait_ms) > 0;
}

static struct plx_nodemem *open_of(const struct plx_fetch *f,
				   uint64_t generation, struct plx_error *err)
{
	char name[PLX_NODEMEM_NAME];

	if (plx_nodemem_name(name, f->facts.job, generation, err) < 0)
		return NULL;
	return plx_nodemem_open(name, err);
}

/* The nearest generation before ours that has memory here. */
static void look(struct plx_fetch *f)
{
	uint64_t own = f->facts.generation;
	struct plx_error err;

	for (uint64_t back = 1; back <= BACK_MAX && back < own; back++) {
		f->mem = open_of(f, own - back, &err);
		f->generation = own - back;
		if (f->mem)
			return;
	}
}

/* All there: check and copy what can be copied by any thread. */
static void load(struct plx_fetch *f)
{
	struct plx_memory_image_facts want = f->facts;
	const char *base;

	want.generation = f->generation;
	f->loaded = -1;
	if (plx_nodemem_follow(f->mem, &f->err) < 0)
		return;
	base = plx_nodemem_base(f->mem);
	if (plx_memory_image_check(base, plx_nodemem_bytes(f->mem), f->parts,
				   &want, &f->err) < 0 ||
	    plx_memory_image_take(base, f->parts, f->slice, &f->err) < 0)
		return;
	f->step = plx_memory_image_step(base);
	f->loaded = 1;
}

static void *fetch(void *arg)
{
	struct plx_fetch *f = arg;

	plx_device_adopt(plx_parts_gpu(f->parts));
	while (!f->mem) {
		look(f);
		if (!f->mem && quits(f, LOOK_MS))
			return NULL;
	}
	while (!plx_memory_image_wait(plx_nodemem_base(f->mem),
				      PLX_MEMORY_IMAGE_GOOD, WAIT_S)) {
		if (quits(f, 0))
			return NULL;
	}
	load(f);
	return NULL;
}

struct plx_fetch *plx_fetch_start(struct pollux *p, struct plx_error *err)
{
	struct plx_fetch *f = calloc(1, sizeof(*f));

	if (!f) {
		plx_fail(err, "out of memory");
		return NULL;
	}
	f->parts = &p->handover->parts;
	f->facts = p->handover->facts;
	f->slice = p->handover->slice;
	f->quit = eventfd(0, EFD_CLOEXEC);
	f->running =
		f->quit >= 0 && plx_thread_begin(&f->thread, fetch, f) == 0;
	if (f->running)
		return f;
	plx_fail(err, "cannot start a thread");
	plx_fetch_destroy(f);
	return NULL;
}

/* The thread ends: at once, unless it is just copying. */
static void join(struct plx_fetch *f)
{
	const uint64_t one = 1;

	if (f->running && write(f->quit, &one, sizeof(one)) == sizeof(one))
		pthread_join(f->thread, NULL);
	f->running = false;
}

bool plx_fetch_touched(struct plx_fetch *f)
{
	join(f);
	return f->loaded != 0;
}

void plx_fetch_destroy(struct plx_fetch *f)
{
	if (!f)
		return;
	join(f);
	plx_nodemem_destroy(f->mem);
	if (f->quit >= 0)
		close(f->quit);
	free(f);
}

/* ---- at the word ---- */

/* Another generation's than was thought, or none found yet. */
static void reopen(struct plx_fetch *f, uint64_t generation)
{
	if (f->mem && f->generation == generation)
		return;
	plx_nodemem_destroy(f->mem);
	f->generation = generation;
	f->loaded = 0;
	f->mem = open_of(f, generation, &f->err);
}

/* What the thread has copied may be older than the last word. */
static bool is_stale(const struct plx_fetch *f)
{
	return f->loaded != 1 ||
	       f->step != plx_memory_image_step(plx_nodemem_base(f->mem));
}

int plx_fetch_finish(struct pollux *p, uint64_t generation,
		     struct plx_error *err)
{
	struct plx_fetch *f = p->handover->fetch;
	int rc = 0;

	join(f);
	reopen(f, generation);
	if (!f->mem) {
		*err = f->err;
		return 0;
	}
	if (!plx_memory_image_wait(plx_nodemem_base(f->mem),
				   PLX_MEMORY_IMAGE_GOOD, COMMIT_S))
		return plx_fail(err,
				"generation %" PRIu64
				" has handed nothing over",
				generation);
	if (is_stale(f))
		load(f);
	rc = f->loaded;
	if (rc == 1)
		rc = plx_memory_image_load(plx_nodemem_base(f->mem), f->parts,
					   &f->err) < 0
			     ? -1
			     : 1;
	*err = f->err;
	return rc;
}

/* ---- ranks that have it give it to the others ---- */

struct route {
	struct pollux *p;
	bool here;    /* this rank has it */
	bool all;     /* all have */
	int from;     /* the lowest rank that has */
	char *pieces; /* rank 0's: one of each rank, where it has not */
};

static int route_piece(struct route *r, char *data, size_t bytes)
{
	struct plx_coll *coll = r->p->coll;

	if (coll->ops->gather(coll, data, bytes, r->pieces, &r->p->err) < 0)
		return -1;
	if (coll->rank == 0)
		memcpy(data, r->pieces + (size_t) r->from * bytes, bytes);
	return 0;
}

/* All end with the bytes of rank `from`, through rank 0. */
static int route_bytes(struct route *r, char *data, size_t bytes)
{
	struct plx_coll *coll = r->p->coll;

	for (size_t at = 0; r->from != 0 && at < bytes; at += PIECE) {
		size_t left = bytes - at;

		if (route_piece(r, data + at, left < PIECE ? left : PIECE) < 0)
			return -1;
	}
	return coll->ops->spread(coll, data, bytes, &r->p->err);
}

/* What has no bytes in the host's memory goes by way of a copy. */
static int route_copy(struct route *r, int i)
{
	const struct plx_handover *h = r->p->handover;
	const void *kept = NULL;
	size_t bytes = 0;
	char *copy;
	int rc;

	if (r->here)
		kept = plx_memory_image_part(plx_nodemem_base(h->fetch->mem), i,
					     &bytes);
	if (route_bytes(r, (char *) &bytes, sizeof(bytes)) < 0)
		return -1;
	copy = malloc(bytes ? bytes : 1);
	if (!copy)
		return plx_fail(&r->p->err, "out of memory");
	if (kept)
		memcpy(copy, kept, bytes);
	rc = route_bytes(r, copy, bytes);
	if (rc == 0 && !r->here)
		rc = plx_part_load(&h->list[i], copy, bytes, &r->p->err);
	free(copy);
	return rc;
}

/* Of all arrays, as their writers knew it. */
static int route_crc(struct route *r)
{
	struct pollux *p = r->p;
	const struct plx_fetch *f = p->handover->fetch;
	uint32_t crc = 0;

	if (r->here)
		crc = plx_memory_image_crc(plx_nodemem_base(f->mem));
	if (!r->all && route_bytes(r, (char *) &crc, sizeof(crc)) < 0)
		return -1;
	p->saved.crc = crc;
	if (r->here || plx_registered_crc(&p->registered) == crc)
		return 0;
	return plx_fail(&p->err,
			"state from another node has a wrong checksum");
}

static int route_all(struct route *r)
{
	const struct plx_handover *h = r->p->handover;

	for (int i = 0; i < h->parts.count; i++) {
		const struct plx_image_part *part = &h->list[i];
		int rc;

		if (part->blob || part->memory != POLLUX_HOST)
			rc = route_copy(r, i);
		else
			rc = route_bytes(r, part->data, part->bytes);
		if (rc < 0)
			return -1;
	}
	return 0;
}

/* What rank 0 makes of how the ranks fared. */
struct plan {
	int from; /* the lowest rank that has it; -1: none */
	bool bad; /* some rank's is damaged, or of another step */
	bool all; /* nobody lacks it */
};

/* How a rank fared. */
struct fared {
	int here; /* as plx_fetch_finish() */
	uint64_t step;
};

static int make_plan(struct pollux *p, int here, struct plan *plan)
{
	const struct fared mine = { here, p->handover->fetch->step };
	int ranks = p->coll->ranks;
	struct fared *all = calloc((size_t) ranks, sizeof(*all));
	int rc = -1;

	if (!all)
		return plx_fail(&p->err, "out of memory");
	*plan = (struct plan){ .from = -1, .all = true };
	if (p->coll->ops->gather(p->coll, &mine, sizeof(mine),
				 p->coll->rank == 0 ? all : NULL, &p->err) < 0)
		goto done;
	for (int i = ranks - 1; p->coll->rank == 0 && i >= 0; i--) {
		int last = plan->from;

		plan->bad |= all[i].here < 0;
		plan->all &= all[i].here == 1;
		if (all[i].here != 1)
			continue;
		plan->from = i;
		plan->bad |= last >= 0 && all[last].step != all[i].step;
	}
	rc = p->coll->ops->spread(p->coll, plan, sizeof(*plan), &p->err);
done:
	free(all);
	return rc;
}

int plx_fetch_spread(struct pollux *p, int here)
{
	struct route r = { .p = p, .here = here == 1 };
	struct plan plan;
	int rc = -1;

	if (make_plan(p, here, &plan) < 0)
		return -1;
	if (plan.bad || plan.from < 0)
		return here == 1 ? plx_fail(&p->err,
					    "state in memory is not good on "
					    "all nodes")
				 : -1;
	r.from = plan.from;
	r.all = plan.all;
	if (!plan.all)
		plx_say(p, "state comes from rank %d to those on other nodes",
			plan.from);
	if (r.from != 0 && p->coll->rank == 0 &&
	    !(r.pieces = malloc((size_t) p->coll->ranks * PIECE)))
		return plx_fail(&p->err, "out of memory");
	if (plan.all || route_all(&r) == 0)
		rc = route_crc(&r);
	free(r.pieces);
	return rc;
}
