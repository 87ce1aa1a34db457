/* SPDX-License-Identifier: MIT */
/*
 * restore.c - which checkpoint to go on from
 *
 * Newest first. A broken one is passed over and the one before is tried; a
 * good one of another training ends the search: to go on past it, or from the
 * beginning, would be to lose somebody's work in silence. For the same reason
 * broken ones are set aside only when a good one was found: else the next
 * start would find an empty folder and begin anew.
 */
#include <config.h>

#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/disk/folder.h"
#include "agent/state/rescue.h"
#include "agent/state/restore.h"
#include "agent/state/restore_read.h"
#include "agent/state/say.h"
#include "agent/state/sigterm.h"
#include "agent/state/store.h"
#include "wire/env.h"
#include "wire/now.h"

#define MANIFEST_MAX (UINT64_C(1) << 30) /* bytes; none is as long */

/* Rank 0's walk through the folder. */
struct search {
	struct plx_folder_entry *list;
	int count;
	int next;   /* to be looked at */
	char *text; /* of the manifest found */
};

/* What it found, for all ranks. */
struct found {
	int status; /* 1: try this one, 0: nothing there, -1: failed */
	struct plx_facts facts; /* of it */
	size_t text_bytes;
	char name[PLX_FOLDER_NAME];
	struct plx_error err;
};

/* ---- getting ready ---- */

static uint64_t own_generation(void)
{
	const char *text = getenv(PLX_ENV_GENERATION);

	return text ? strtoull(text, NULL, 10) : 0;
}

/* One number for all ranks, another one at each start. */
static int draw_number(struct pollux *p)
{
	struct plx_store *s = p->store;

	if (p->coll->rank == 0 && getrandom(&s->number, sizeof(s->number), 0) !=
					  (ssize_t) sizeof(s->number))
		s->number = (uint32_t) (1e6 * plx_now_s());
	return p->coll->ops->spread(p->coll, &s->number, sizeof(s->number),
				    &p->err);
}

/* The folder is ours from now on; what was left half done in it goes. */
static int take_folder(struct pollux *p)
{
	struct plx_store *s = p->store;
	struct plx_error err;
	int lock = plx_fence_enter(&s->fence, &err);

	if (lock < 0)
		plx_say(p, "%s", err.text);
	if (lock == PLX_FENCED || lock == PLX_FENCE_FOREIGN) {
		p->err = err;
		return -1;
	}
	if (lock < 0)
		return 0; /* a full disk: it may be better later */
	plx_folder_clean(p->folder, s->fence.own.generation, "");
	plx_fence_leave(lock);
	return 0;
}

/* Collective: p->store. */
static int open_store(struct pollux *p)
{
	struct plx_store *s = calloc(1, sizeof(*s));
	int rc = 0;

	if (!s)
		return plx_fail(&p->err, "out of memory");
	pthread_mutex_init(&s->lock, NULL);
	pthread_cond_init(&s->moved, NULL);
	p->store = s;
	if (draw_number(p) < 0)
		return plx_fault(p, POLLUX_ECOMM);
	if (!p->folder[0])
		return 0;
	if (plx_fence_init(&s->fence, p->folder, own_generation(), &p->err) < 0)
		return -1;
	if (p->coll->rank == 0)
		rc = take_folder(p);
	if (p->coll->ops->spread(p->coll, &rc, sizeof(rc), &p->err) < 0)
		return plx_fault(p, POLLUX_ECOMM);
	if (rc < 0 && p->coll->rank != 0)
		plx_fail(&p->err, "rank 0 may not write checkpoints there");
	return rc < 0 ? plx_fault(p, POLLUX_ESTATE) : 0;
}

/* ---- looking, rank 0 ---- */

/* Of a checkpoint's own folder. */
static char *read_manifest(int dir, size_t *bytes, struct plx_error *err)
{
	struct plx_segment segment = { .data = NULL };
	struct plx_stream stream = { .segments = &segment, .count = 1 };
	struct stat st;

	if (fstatat(dir, PLX_MANIFEST_FILE, &st, AT_SYMLINK_NOFOLLOW) < 0) {
		plx_fail(err, "it has no manifest");
		return NULL;
	}
	segment.bytes = (uint64_t) st.st_size;
	if (segment.bytes < MANIFEST_MAX)
		segment.data = malloc(segment.bytes + 1);
	if (!segment.data) {
		plx_fail(err, "no memory for its manifest");
		return NULL;
	}
	*bytes = segment.bytes;
	if (plx_stream_read(&stream, dir, PLX_MANIFEST_FILE, true, err) == 0)
		return segment.data;
	free(segment.data);
	return NULL;
}

static char *read_text(const struct pollux *p, const char *name, size_t *bytes,
		       struct plx_error *err)
{
	int dir = plx_folder_enter(p->folder, name, false, err);
	char *text;

	if (dir < 0)
		return NULL;
	text = read_manifest(dir, bytes, err);
	close(dir);
	return text;
}

/* Its manifest. */
static enum plx_read look_into(const struct pollux *p, struct search *s,
			       struct found *found, struct plx_error *err)
{
	struct plx_manifest *manifest;

	s->text = read_text(p, found->name, &found->text_bytes, err);
	if (!s->text)
		return PLX_READ_BROKEN;
	manifest = plx_manifest_parse(s->text, found->text_bytes, err);
	if (!manifest)
		return PLX_READ_BROKEN;
	plx_manifest_destroy(manifest);
	return PLX_READ_GOOD;
}

static void say_broken(const struct pollux *p, const char *name,
		       const struct plx_error *why)
{
	plx_say(p, "cannot use checkpoint %.160s/%s: %.200s", p->folder, name,
		why->text);
}

static void fail_foreign(const struct pollux *p, struct plx_error *err,
			 const char *name, const struct plx_error *why)
{
	plx_fail(err, "checkpoint %.100s/%s does not fit: %.100s", p->folder,
		 name, why->text);
}

static void find_next(struct pollux *p, struct search *s, struct found *found)
{
	struct plx_error why;

	found->status = -1;
	if (s->count < 0) {
		found->err = p->err;
		return;
	}
	while (s->next < s->count) {
		const struct plx_folder_entry *entry = &s->list[s->next++];

		plx_folder_name(entry, found->name);
		switch (look_into(p, s, found, &why)) {
		case PLX_READ_GOOD:
			found->status = 1;
			return;
		case PLX_READ_FOREIGN:
			fail_foreign(p, &found->err, found->name, &why);
			return;
		case PLX_READ_LOST:
			return;
		case PLX_READ_BROKEN:
			say_broken(p, found->name, &why);
			break;
		}
		free(s->text);
		s->text = NULL;
	}
	if (s->count == 0)
		found->status = 0;
	else
		plx_fail(&found->err, "all checkpoints in %.150s are broken",
			 p->folder);
}

/*
 * The newest checkpoint that would survive a loss of power: the manifest gone
 * on from may be by a survivor, who does not know.
 */
static uint64_t newest_flushed(const struct pollux *p, const struct search *s)
{
	uint64_t newest = 0;

	for (int i = s->next - 1; i < s->count; i++) {
		struct plx_manifest *m = NULL;
		char name[PLX_FOLDER_NAME];
		size_t bytes;
		char *text;

		plx_folder_name(&s->list[i], name);
		text = read_text(p, name, &bytes, NULL);
		if (text)
			m = plx_manifest_parse(text, bytes, NULL);
		if (m && m->facts.flushed > newest)
			newest = m->facts.flushed;
		plx_manifest_destroy(m);
		free(text);
	}
	return newest;
}

/* ---- all ranks ---- */

/* The manifest from rank 0, which has read it. */
static struct plx_manifest *spread_manifest(struct pollux *p,
					    const struct search *s,
					    size_t bytes)
{
	char *text = s->text ? s->text : malloc(bytes);
	struct plx_manifest *manifest = NULL;

	if (!text)
		plx_fail(&p->err, "out of memory");
	else if (p->coll->ops->spread(p->coll, text, bytes, &p->err) == 0)
		manifest = plx_manifest_parse(text, bytes, &p->err);
	if (text != s->text)
		free(text);
	return manifest;
}

static enum plx_read read_found(struct pollux *p, const struct search *s,
				struct found *found)
{
	struct plx_manifest *manifest;
	enum plx_read result;
	struct plx_error why = { .text = "" };

	manifest = spread_manifest(p, s, found->text_bytes);
	if (!manifest)
		return PLX_READ_LOST;
	result = plx_restore_read(p, manifest, found->name, &why);
	found->facts = manifest->facts;
	plx_manifest_destroy(manifest);
	if (result == PLX_READ_BROKEN)
		say_broken(p, found->name, &why);
	if (result == PLX_READ_FOREIGN)
		fail_foreign(p, &p->err, found->name, &why);
	if (result == PLX_READ_LOST)
		p->err = why;
	return result;
}

/* p goes on from there. */
static void adopt(struct pollux *p, const struct found *found)
{
	const struct plx_facts *f = &found->facts;
	struct plx_store *s = p->store;

	p->cursor.epoch = f->epoch;
	p->cursor.position = f->position;
	p->cursor.step = f->step;
	p->flushed = f->flushed;
	p->meter.flushed_s -= 1e-3 * (double) f->unflushed_ms;
	p->restored = true;
	p->restored_from = f->rescue ? "rescue" : "disk";
	s->has_newest = true;
	s->newest = f->step;
	s->is_flushed = f->flushed == f->step;
	s->crc = f->crc;
	s->cost_s = 1e-6 * (double) f->cost_us;
	plx_say(p,
		"restored step %" PRIu64 ", %" PRIu64 " samples used, crc "
		"%08" PRIx32 " as saved",
		f->step, plx_cursor_used(&p->cursor), f->crc);
}

static int try_all(struct pollux *p, struct search *s)
{
	struct found found = { 0 };
	enum plx_read result;

	for (;;) {
		if (p->coll->rank == 0)
			find_next(p, s, &found);
		if (p->coll->ops->spread(p->coll, &found, sizeof(found),
					 &p->err) < 0)
			return plx_fault(p, POLLUX_ECOMM);
		if (found.status < 0) {
			p->err = found.err;
			return plx_fault(p, POLLUX_ESTATE);
		}
		if (found.status == 0)
			return plx_restore_spread(p);
		result = read_found(p, s, &found);
		free(s->text);
		s->text = NULL;
		if (result == PLX_READ_LOST)
			return plx_fault(p, POLLUX_ECOMM);
		if (result == PLX_READ_FOREIGN)
			return plx_fault(p, POLLUX_ESTATE);
		if (result == PLX_READ_GOOD)
			break;
	}
	/* The last looked at was good, those before it were not. */
	for (int i = 0; i < s->next - 1; i++)
		plx_folder_refuse(p->folder, &s->list[i]);
	adopt(p, &found);
	if (p->coll->rank == 0 && newest_flushed(p, s) > p->flushed)
		p->flushed = newest_flushed(p, s);
	return 0;
}

/* There is something to rescue from now on. */
static int begin(struct pollux *p)
{
	plx_state_settled(p);
	plx_guard_begin(p);
	return 0;
}

int plx_restore(struct pollux *p)
{
	struct search s = { 0 };
	int rc;

	if (open_store(p) < 0)
		return -1;
	if (p->coll->rank == 0 && p->folder[0])
		s.count = plx_folder_list(p->folder, &s.list, &p->err);
	rc = try_all(p, &s);
	free(s.list);
	free(s.text);
	return rc < 0 ? -1 : begin(p);
}

int plx_restore_adopt(struct pollux *p)
{
	return open_store(p) < 0 ? -1 : begin(p);
}

int plx_restore_resume(struct pollux *p, uint64_t generation)
{
	struct plx_fence *fence = &p->store->fence;
	int rc = 0;

	if (!p->folder[0])
		return 0;
	if (p->coll->rank == 0)
		rc = plx_fence_retake(fence, generation, &p->err);
	if (rc < 0)
		plx_say(p, "%s", p->err.text);
	p->store->fenced = false;
	if (p->coll->ops->spread(p->coll, &fence->own, sizeof(fence->own),
				 &p->err) < 0)
		return plx_fault(p, POLLUX_ECOMM);
	return 0;
}
