/* SPDX-License-Identifier: MIT */
/*
 * save.c - what a checkpoint holds, and how all ranks get it back
 *
 * The registered tensors, the profile ("pollux.agent") and, as metadata, the
 * position in the data. Rank 0 alone touches files; the others receive.
 */
#include <config.h>

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agent/agent.h"
#include "agent/folder.h"
#include "agent/save.h"
#include "core/crc.h"

#define FORMAT	   "pollux-1"
#define AGENT_NAME "pollux.agent"

enum note {
	NOTE_FORMAT,
	NOTE_EPOCH,
	NOTE_POSITION,
	NOTE_STEP,
	NOTE_DATASET,
	NOTE_SEED,
	NOTE_CRC,
	NOTE_FLUSHED,
	NOTE_UNFLUSHED_MS,
	NOTE_COUNT,
};

static const char *const note_keys[NOTE_COUNT] = {
	[NOTE_FORMAT] = "format",
	[NOTE_EPOCH] = "epoch",
	[NOTE_POSITION] = "position",
	[NOTE_STEP] = "step",
	[NOTE_DATASET] = "dataset",
	[NOTE_SEED] = "seed",
	[NOTE_CRC] = "crc",
	[NOTE_FLUSHED] = "flushed",
	[NOTE_UNFLUSHED_MS] = "unflushed_ms",
};

/* What rank 0 found, for all ranks. */
struct found {
	int status; /* 1 restored, 0 nothing there, -1 failed */
	uint32_t crc;
	uint64_t epoch;
	uint64_t position;
	uint64_t step;
	uint64_t flushed;
	uint64_t unflushed_ms;
	struct plx_error err;
};

static struct plx_tensor agent_tensor(struct plx_profile *profile)
{
	struct plx_tensor tensor = {
		.name = AGENT_NAME,
		.dtype = "U8",
		.dims = 1,
		.shape = { sizeof(*profile) },
		.data = profile,
		.bytes = sizeof(*profile),
	};

	return tensor;
}

/* Milliseconds of training that a loss of power would undo. */
static uint64_t unflushed_ms(const struct pollux *p, bool flush)
{
	double since_s = plx_now_s() - p->meter.flushed_s;

	return flush || since_s < 0 ? 0 : (uint64_t) (1e3 * since_s);
}

static void fill_notes(const struct pollux *p, bool flush, uint32_t crc,
		       struct plx_note notes[NOTE_COUNT])
{
	const uint64_t values[NOTE_COUNT] = {
		[NOTE_EPOCH] = p->cursor.epoch,
		[NOTE_POSITION] = p->cursor.position,
		[NOTE_STEP] = p->cursor.step,
		[NOTE_DATASET] = p->cursor.samples,
		[NOTE_SEED] = p->cursor.seed,
		[NOTE_FLUSHED] = flush ? p->cursor.step : p->flushed,
		[NOTE_UNFLUSHED_MS] = unflushed_ms(p, flush),
	};

	for (int i = 0; i < NOTE_COUNT; i++) {
		snprintf(notes[i].key, sizeof(notes[i].key), "%s",
			 note_keys[i]);
		snprintf(notes[i].value, sizeof(notes[i].value), "%" PRIu64,
			 values[i]);
	}
	snprintf(notes[NOTE_FORMAT].value, PLX_NOTE_SIZE, "%s", FORMAT);
	snprintf(notes[NOTE_CRC].value, PLX_NOTE_SIZE, "%08" PRIx32, crc);
}

static size_t state_bytes(const struct pollux *p)
{
	size_t bytes = 0;

	for (int i = 0; i < p->tensor_count; i++)
		bytes += p->tensors[i].bytes;
	return bytes;
}

static int write_file(struct pollux *p, const struct plx_tensor *tensors,
		      bool flush)
{
	struct plx_note notes[NOTE_COUNT];
	const struct plx_saved saved = {
		.tensors = tensors,
		.tensor_count = p->tensor_count + 1,
		.notes = notes,
		.note_count = NOTE_COUNT,
	};
	char path[PATH_MAX];
	double begin_s = plx_now_s();

	p->saved.crc = pollux_crc(p);
	fill_notes(p, flush, p->saved.crc, notes);
	if (plx_folder_path(p->folder, p->cursor.step, path, sizeof(path),
			    &p->err) < 0 ||
	    plx_checkpoint_write(path, &saved, flush, &p->err) < 0)
		return -1;
	if (flush)
		p->flushed = p->cursor.step;
	p->saved.seconds = plx_now_s() - begin_s;
	p->saved.bytes = state_bytes(p);
	plx_folder_prune(p->folder, p->flushed);
	plx_say(p, "saved step %" PRIu64 ", crc %08" PRIx32, p->cursor.step,
		p->saved.crc);
	return 0;
}

static int write_all(struct pollux *p, bool flush)
{
	size_t count = (size_t) p->tensor_count;
	struct plx_tensor *all = calloc(count + 1, sizeof(*all));
	int rc;

	if (!all)
		return plx_fail(&p->err, "out of memory");
	if (count)
		memcpy(all, p->tensors, count * sizeof(*all));
	all[count] = agent_tensor(&p->profile);
	rc = write_file(p, all, flush);
	free(all);
	return rc;
}

int plx_save(struct pollux *p, enum plx_save_kind kind)
{
	int rc = 0;

	if (!p->folder[0])
		return 0;
	if (p->coll->rank == 0 && write_all(p, kind != PLX_SAVE_QUICK) < 0) {
		plx_say(p, "%s", p->err.text);
		rc = PLX_SAVE_LATER;
	}
	/* From its end: slow storage must not make us save all the time. */
	if (kind != PLX_SAVE_QUICK)
		p->meter.flushed_s = plx_now_s();
	if (p->coll->ops->spread(p->coll, &rc, sizeof(rc), &p->err) < 0)
		return POLLUX_ECOMM;
	return rc;
}

bool plx_save_due(struct pollux *p)
{
	double every_s = p->config.checkpoint_every_s;

	return p->folder[0] && every_s > 0 &&
	       plx_now_s() > p->meter.flushed_s + every_s;
}

int plx_save_wait(struct pollux *p)
{
	(void) p; /* all of them have ended when plx_save() returns */
	return 0;
}

int plx_rescue(struct pollux *p)
{
	if (!p->folder[0])
		return 0;
	return write_all(p, false);
}

void plx_save_release(struct pollux *p)
{
	free(p->store);
	p->store = NULL;
}

static int read_number(const struct plx_checkpoint *c, enum note note, int base,
		       uint64_t *out, struct plx_error *err)
{
	const char *text = plx_checkpoint_note(c, note_keys[note]);
	char *end = NULL;

	errno = 0;
	if (text && *text)
		*out = strtoull(text, &end, base);
	if (!end || *end || errno)
		return plx_fail(err, "its note \"%s\" is no number",
				note_keys[note]);
	return 0;
}

/* A good file, but is it this training's? Nothing is changed unless it is. */
static int check_fit(const struct pollux *p, const struct plx_checkpoint *c,
		     struct plx_error *err)
{
	const char *format = plx_checkpoint_note(c, note_keys[NOTE_FORMAT]);
	uint64_t dataset;
	uint64_t seed;

	if (!format || strcmp(format, FORMAT) != 0)
		return plx_fail(err, "its format is not " FORMAT);
	if (read_number(c, NOTE_DATASET, 10, &dataset, err) < 0 ||
	    read_number(c, NOTE_SEED, 10, &seed, err) < 0)
		return -1;
	if (dataset != p->cursor.samples)
		return plx_fail(err,
				"its dataset had %" PRIu64
				" samples, this one has %" PRIu64,
				dataset, p->cursor.samples);
	if (seed != p->cursor.seed)
		return plx_fail(err, "its seed was %" PRIu64 ", not %" PRIu64,
				seed, p->cursor.seed);
	for (int i = 0; i < p->tensor_count; i++) {
		if (plx_checkpoint_has(c, &p->tensors[i], err) < 0)
			return -1;
	}
	return 0;
}

static int take(struct pollux *p, const struct plx_checkpoint *c,
		struct found *found, struct plx_error *err)
{
	struct plx_tensor agent = agent_tensor(&p->profile);
	uint64_t crc;

	if (check_fit(p, c, err) < 0 ||
	    read_number(c, NOTE_EPOCH, 10, &found->epoch, err) < 0 ||
	    read_number(c, NOTE_POSITION, 10, &found->position, err) < 0 ||
	    read_number(c, NOTE_STEP, 10, &found->step, err) < 0 ||
	    read_number(c, NOTE_FLUSHED, 10, &found->flushed, err) < 0 ||
	    read_number(c, NOTE_UNFLUSHED_MS, 10, &found->unflushed_ms, err) <
		    0 ||
	    read_number(c, NOTE_CRC, 16, &crc, err) < 0)
		return -1;
	if (found->position >= p->cursor.samples)
		return plx_fail(err, "its position is outside the dataset");
	found->crc = (uint32_t) crc;
	for (int i = 0; i < p->tensor_count; i++)
		plx_checkpoint_fill(c, &p->tensors[i], NULL);
	/* A profile of another version is measured anew: no harm done. */
	if (plx_checkpoint_fill(c, &agent, NULL) < 0 ||
	    !plx_profile_valid(&p->profile))
		plx_profile_init(&p->profile);
	return 0;
}

/*
 * Newest first. A broken file is passed over and the one before is tried; a
 * good one of another training ends the search: to go on past it, or from
 * the beginning, would be to lose somebody's work in silence. For the same
 * reason broken ones are set aside only when a good one was found: else the
 * next start would find an empty folder and begin anew.
 */
static int search(struct pollux *p, struct found *found)
{
	uint64_t steps[PLX_FOLDER_MAX];
	struct plx_error why;
	char path[PATH_MAX];
	int count = plx_folder_list(p->folder, steps, &found->err);

	if (count <= 0)
		return count;
	for (int i = 0; i < count; i++) {
		struct plx_checkpoint *c;
		int rc;

		if (plx_folder_path(p->folder, steps[i], path, sizeof(path),
				    &found->err) < 0)
			return -1;
		c = plx_checkpoint_read(path, &why);
		if (!c) {
			plx_say(p, "%s", why.text);
			continue;
		}
		rc = take(p, c, found, &why);
		plx_checkpoint_destroy(c);
		if (rc < 0)
			return plx_fail(
				&found->err,
				"checkpoint %.120s does not fit: %.100s", path,
				why.text);
		while (i-- > 0)
			plx_folder_refuse(p->folder, steps[i]);
		return 1;
	}
	return plx_fail(&found->err, "all checkpoints in %.150s are broken",
			p->folder);
}

static int spread_state(struct pollux *p)
{
	const struct plx_coll_ops *ops = p->coll->ops;

	for (int i = 0; i < p->tensor_count; i++) {
		struct plx_tensor *t = &p->tensors[i];

		if (ops->spread(p->coll, t->data, t->bytes, &p->err) < 0)
			return -1;
	}
	return ops->spread(p->coll, &p->profile, sizeof(p->profile), &p->err);
}

int plx_restore(struct pollux *p)
{
	struct found found = { 0 };
	uint32_t crc;

	if (p->coll->rank == 0 && p->folder[0])
		found.status = search(p, &found);
	if (p->coll->ops->spread(p->coll, &found, sizeof(found), &p->err) < 0)
		return -1;
	if (found.status < 0)
		return plx_fail(&p->err, "%s", found.err.text);
	/* Also a fresh start begins with the same state on all ranks. */
	if (spread_state(p) < 0)
		return -1;
	if (!found.status)
		return 0;
	crc = pollux_crc(p);
	if (crc != found.crc)
		return plx_fail(&p->err,
				"restored state has crc %08" PRIx32
				", saved was %08" PRIx32,
				crc, found.crc);
	p->cursor.epoch = found.epoch;
	p->cursor.position = found.position;
	p->cursor.step = found.step;
	p->flushed = found.flushed;
	p->meter.flushed_s -= 1e-3 * (double) found.unflushed_ms;
	p->restored = true;
	plx_say(p,
		"restored step %" PRIu64 ", %" PRIu64 " samples used, crc "
		"%08" PRIx32 " as saved",
		found.step, plx_cursor_used(&p->cursor), crc);
	return 0;
}
