/* SPDX-License-Identifier: MIT */
/* memory_image.c - how state lies in a node's memory */
#include <config.h>

#include <inttypes.h>
#include <string.h>

#include "agent/base/callback.h"
#include "agent/gpu/device.h"
#include "agent/memory/image_piece.h"
#include "agent/memory/image_word.h"
#include "agent/memory/memory_image.h"
#include "core/base/crc.h"

#define MAGIC	  "pollux!"
#define LAYOUT	  1		/* version of all this */
#define ALIGNMENT ((size_t) 64) /* of parts */
#define PARTS_MAX (1 << 20)

struct head {
	uint32_t word; /* enum plx_memory_image_word, futex */
	uint32_t crc;  /* of all below and the table of parts and pieces */
	char magic[8];
	uint32_t version;
	uint32_t parts;
	uint32_t arrays;
	uint32_t pieces;
	uint64_t bytes; /* of all there is */
	struct plx_memory_image_facts facts;
};

/* The table's rows. */
struct row {
	uint64_t at; /* from the head */
	uint64_t bytes;
	uint32_t kind;
	uint32_t first_piece;
};

/* After the rows: a checksum for each piece. */
static struct row *rows_of(const void *base)
{
	return (struct row *) ((char *) base + sizeof(struct head));
}

static uint32_t *sums_of(const void *base)
{
	const struct head *head = base;

	return (uint32_t *) (rows_of(base) + head->parts);
}

static size_t pieces_in(uint64_t bytes)
{
	return (bytes + PLX_IMAGE_PIECE - 1) / PLX_IMAGE_PIECE;
}

static size_t aligned(size_t bytes)
{
	return (bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
}

/* Of head and tables, given how many of each. */
static size_t front_bytes(size_t parts, size_t pieces)
{
	return sizeof(struct head) + parts * sizeof(struct row) +
	       pieces * sizeof(uint32_t);
}

static size_t count_pieces(const struct plx_parts *parts)
{
	size_t pieces = 0;

	for (int i = 0; i < parts->count; i++)
		pieces += pieces_in(parts->list[i].bytes);
	return pieces;
}

size_t plx_memory_image_size(const struct plx_parts *parts)
{
	size_t size = aligned(
		front_bytes((size_t) parts->count, count_pieces(parts)));

	for (int i = 0; i < parts->count; i++)
		size += aligned(parts->list[i].bytes);
	return size;
}

static void set_word(void *base, enum plx_memory_image_word word)
{
	plx_image_word_set(&((struct head *) base)->word, word);
}

bool plx_memory_image_wait(const void *base, enum plx_memory_image_word word,
			   double timeout_s)
{
	return plx_image_word_wait(&((const struct head *) base)->word, word,
				   timeout_s);
}

void plx_memory_image_clear(void *base)
{
	set_word(base, PLX_MEMORY_IMAGE_EMPTY);
}

/* ---- writing ---- */

void plx_memory_image_lay(void *base, const struct plx_parts *parts,
			  const struct plx_memory_image_facts *facts)
{
	struct head *head = base;
	size_t pieces = count_pieces(parts);
	size_t at = aligned(front_bytes((size_t) parts->count, pieces));
	uint32_t piece = 0;

	set_word(base, PLX_MEMORY_IMAGE_EMPTY);
	memcpy(head->magic, MAGIC, sizeof(head->magic));
	head->version = LAYOUT;
	head->parts = (uint32_t) parts->count;
	head->arrays = (uint32_t) parts->arrays;
	head->pieces = (uint32_t) pieces;
	head->facts = *facts;
	for (int i = 0; i < parts->count; i++) {
		const struct plx_image_part *part = &parts->list[i];

		rows_of(base)[i] = (struct row){
			.at = at,
			.bytes = part->bytes,
			.kind = part->kind,
			.first_piece = piece,
		};
		at += aligned(part->bytes);
		piece += (uint32_t) pieces_in(part->bytes);
	}
	head->bytes = at;
	set_word(base, PLX_MEMORY_IMAGE_LAID);
}

static size_t piece_bytes(const struct row *row, size_t piece)
{
	size_t left = row->bytes - piece * PLX_IMAGE_PIECE;

	return left < PLX_IMAGE_PIECE ? left : PLX_IMAGE_PIECE;
}

/* ---- slices ---- */

/* The first piece of a row that a slice has; every slice.of-th follows. */
static size_t first_of(const struct row *row, struct plx_slice slice)
{
	size_t of = (size_t) slice.of;

	return (of + (size_t) slice.mine - row->first_piece % of) % of;
}

/* A lane's slice of a rank's. */
static struct plx_slice within(struct plx_slice rank, struct plx_slice lane)
{
	return (struct plx_slice){
		.mine = rank.mine + rank.of * lane.mine,
		.of = rank.of * lane.of,
	};
}

static struct plx_image_piece piece_of(const void *base, const struct row *row,
				       const struct plx_image_part *part,
				       size_t piece)
{
	size_t at = piece * PLX_IMAGE_PIECE;

	return (struct plx_image_piece){
		.kept = (char *) base + row->at + at,
		.data = part->blob ? NULL : (char *) part->data + at,
		.bytes = piece_bytes(row, piece),
		.memory = part->memory,
	};
}

const void *plx_parts_gpu(const struct plx_parts *parts)
{
	for (int i = 0; i < parts->count; i++) {
		const struct plx_image_part *part = &parts->list[i];

		if (!part->blob && part->memory == POLLUX_CUDA && part->bytes)
			return part->data;
	}
	return NULL;
}

/* What all lanes are told, of a copy in either direction. */
struct image_copy {
	const void *base;
	const struct plx_parts *parts;
	struct plx_slice slice; /* this rank's */
};

typedef int lane_work(void *copy, struct plx_slice slice, struct plx_lane *lane,
		      struct plx_error *err);

static int run_lanes(const struct image_copy *copy, lane_work *work,
		     size_t pieces, struct plx_error *err)
{
	const struct plx_lanes lanes = {
		.work = work,
		.what = (void *) copy,
		.pieces = pieces,
		.gpu = plx_parts_gpu(copy->parts),
		.threads = copy->parts->threads,
	};

	return plx_lanes_run(&lanes, err);
}

/* ---- a rank's slice is written ---- */

/* A blob is made in one go; its pieces are summed after that. */
static int save_blob(void *base, int i, const struct plx_image_part *part,
		     struct plx_error *err)
{
	const struct row *row = &rows_of(base)[i];

	if (plx_call_save(part->blob, (char *) base + row->at, row->bytes) < 0)
		return plx_fail(err, "state \"%.80s\" cannot be saved",
				part->name);
	return 0;
}

static int write_part(const struct image_copy *c, int i, struct plx_slice lane,
		      struct plx_lane *own, struct plx_error *err)
{
	const struct plx_image_part *part = &c->parts->list[i];
	const struct row *row = &rows_of(c->base)[i];
	struct plx_slice slice = part->blob ? lane : within(c->slice, lane);

	for (size_t p = first_of(row, slice); p < pieces_in(row->bytes);
	     p += (size_t) slice.of) {
		struct plx_image_piece piece = piece_of(c->base, row, part, p);
		uint32_t *sum = &sums_of(c->base)[row->first_piece + p];

		if (plx_image_piece_write(&piece, own, sum, err) < 0)
			return -1;
	}
	return 0;
}

static int write_slice(void *what, struct plx_slice lane, struct plx_lane *own,
		       struct plx_error *err)
{
	const struct image_copy *c = what;

	for (int i = 0; i < c->parts->count; i++) {
		if (c->parts->list[i].blob && c->slice.mine != 0)
			continue;
		if (write_part(c, i, lane, own, err) < 0)
			return -1;
	}
	return 0;
}

int plx_memory_image_write(void *base, const struct plx_parts *parts,
			   struct plx_slice slice, struct plx_error *err)
{
	const struct image_copy copy = { base, parts, slice };
	const struct head *head = base;

	for (int i = 0; slice.mine == 0 && i < parts->count; i++) {
		const struct plx_image_part *part = &parts->list[i];

		if (part->blob && save_blob(base, i, part, err) < 0)
			return -1;
	}
	return run_lanes(&copy, write_slice, head->pieces / (size_t) slice.of,
			 err);
}

static uint32_t front_crc(const void *base)
{
	const struct head *head = base;
	const char *from = head->magic;
	size_t skipped = (size_t) (from - (const char *) base);

	return plx_crc32c(0, from,
			  front_bytes(head->parts, head->pieces) - skipped);
}

void plx_memory_image_commit(void *base)
{
	struct head *head = base;

	head->crc = front_crc(base);
	set_word(base, PLX_MEMORY_IMAGE_GOOD);
}

/* ---- reading ---- */

static int check_head(const void *base, size_t bytes, struct plx_error *err)
{
	const struct head *head = base;

	if (bytes < sizeof(*head) ||
	    plx_image_word_get(&head->word) != PLX_MEMORY_IMAGE_GOOD)
		return plx_fail(err, "no state in this node's memory");
	if (memcmp(head->magic, MAGIC, sizeof(head->magic)) != 0 ||
	    head->version != LAYOUT)
		return plx_fail(err, "state in memory is another version's");
	if (head->parts > PARTS_MAX || head->bytes > bytes ||
	    front_bytes(head->parts, head->pieces) > bytes ||
	    front_crc(base) != head->crc)
		return plx_fail(err, "state in memory has a damaged head");
	return 0;
}

static int check_row(const void *base, int i, const struct plx_image_part *part,
		     struct plx_error *err)
{
	const struct head *head = base;
	const struct row *row = &rows_of(base)[i];

	if (row->kind != part->kind ||
	    (!part->blob && row->bytes != part->bytes))
		return plx_fail(err,
				"state in memory is another program's: its "
				"part %d differs",
				i);
	if (row->at > head->bytes || row->bytes > head->bytes - row->at ||
	    row->first_piece + pieces_in(row->bytes) > head->pieces)
		return plx_fail(err, "state in memory has a damaged table");
	return 0;
}

int plx_memory_image_check(const void *base, size_t bytes,
			   const struct plx_parts *parts,
			   const struct plx_memory_image_facts *want,
			   struct plx_error *err)
{
	const struct head *head = base;

	if (check_head(base, bytes, err) < 0)
		return -1;
	if (strncmp(head->facts.job, want->job, sizeof(want->job)) != 0)
		return plx_fail(err, "state in memory is another job's");
	if (want->generation && want->generation != head->facts.generation)
		return plx_fail(err,
				"state in memory is of generation %" PRIu64
				", want %" PRIu64,
				head->facts.generation, want->generation);
	if (head->parts != (uint32_t) parts->count ||
	    head->arrays != (uint32_t) parts->arrays)
		return plx_fail(err,
				"state in memory has %" PRIu32
				" parts, want %d",
				head->parts, parts->count);
	for (int i = 0; i < parts->count; i++) {
		if (check_row(base, i, &parts->list[i], err) < 0)
			return -1;
	}
	return 0;
}

/* Each rank takes all pieces, and checks those of its slice. */
static int take_part(const struct image_copy *c, int i, struct plx_slice lane,
		     struct plx_lane *own, struct plx_error *err)
{
	const struct row *row = &rows_of(c->base)[i];
	size_t of = (size_t) c->slice.of;

	for (size_t p = first_of(row, lane); p < pieces_in(row->bytes);
	     p += (size_t) lane.of) {
		struct plx_image_piece piece =
			piece_of(c->base, row, &c->parts->list[i], p);
		size_t number = row->first_piece + p;
		const uint32_t *sum = &sums_of(c->base)[number];

		if (number % of != (size_t) c->slice.mine)
			sum = NULL;
		if (plx_image_piece_take(&piece, own, sum, err) < 0)
			return -1;
	}
	return 0;
}

static int take_slice(void *what, struct plx_slice lane, struct plx_lane *own,
		      struct plx_error *err)
{
	const struct image_copy *c = what;

	for (int i = 0; i < c->parts->count; i++) {
		if (take_part(c, i, lane, own, err) < 0)
			return -1;
	}
	return 0;
}

int plx_memory_image_take(const void *base, const struct plx_parts *parts,
			  struct plx_slice slice, struct plx_error *err)
{
	const struct image_copy copy = { base, parts, slice };
	const struct head *head = base;

	return run_lanes(&copy, take_slice, head->pieces, err);
}

int plx_part_load(const struct plx_image_part *part, const void *from,
		  size_t bytes, struct plx_error *err)
{
	if (!part->blob)
		return plx_device_write(part->data, from, bytes, part->memory,
					err);
	if (plx_call_load(part->blob, from, bytes) < 0)
		return plx_fail(err, "state \"%.80s\" cannot be restored",
				part->name);
	return 0;
}

int plx_memory_image_load(const void *base, const struct plx_parts *parts,
			  struct plx_error *err)
{
	for (int i = 0; i < parts->count; i++) {
		size_t bytes;
		const void *from = plx_memory_image_part(base, i, &bytes);

		if (parts->list[i].blob &&
		    plx_part_load(&parts->list[i], from, bytes, err) < 0)
			return -1;
	}
	return 0;
}

/* ---- facts ---- */

uint64_t plx_memory_image_step(const void *base)
{
	return ((const struct head *) base)->facts.step;
}

uint32_t plx_memory_image_crc(const void *base)
{
	const struct head *head = base;
	uint32_t crc = 0;

	for (uint32_t i = 0; i < head->arrays; i++) {
		const struct row *row = &rows_of(base)[i];

		for (size_t p = 0; p < pieces_in(row->bytes); p++)
			crc = plx_crc32c_join(
				crc, sums_of(base)[row->first_piece + p],
				piece_bytes(row, p));
	}
	return crc;
}

size_t plx_memory_image_bytes(const void *base)
{
	const struct head *head = base;
	size_t bytes = 0;

	for (uint32_t i = 0; i < head->arrays; i++)
		bytes += rows_of(base)[i].bytes;
	return bytes;
}

const void *plx_memory_image_part(const void *base, int part, size_t *bytes)
{
	const struct row *row = &rows_of(base)[part];

	*bytes = row->bytes;
	return (const char *) base + row->at;
}
