/* SPDX-License-Identifier: MIT */
/* memory_image.c - how state lies in a node's memory */
#include <config.h>

#include <errno.h>
#include <inttypes.h>
#include <linux/futex.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "agent/callback.h"
#include "agent/device.h"
#include "agent/memory_image.h"
#include "core/base/crc.h"

#define MAGIC	    "pollux!"
#define LAYOUT	    1 /* version of all this */
#define PIECE_BYTES ((size_t) 1 << 20)
#define ALIGNMENT   ((size_t) 64) /* of parts */
#define BLOCK_BYTES ((size_t) 64 << 10)
#define PARTS_MAX   (1 << 20)

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
	return (bytes + PIECE_BYTES - 1) / PIECE_BYTES;
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

/* ---- the word ---- */

static void set_word(void *base, enum plx_memory_image_word word)
{
	struct head *head = base;

	__atomic_store_n(&head->word, word, __ATOMIC_RELEASE);
	syscall(SYS_futex, &head->word, FUTEX_WAKE, INT32_MAX, NULL, NULL, 0);
}

static uint32_t get_word(const void *base)
{
	const struct head *head = base;

	return __atomic_load_n(&head->word, __ATOMIC_ACQUIRE);
}

static double clock_s(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double) t.tv_sec + 1e-9 * (double) t.tv_nsec;
}

bool plx_memory_image_wait(const void *base, enum plx_memory_image_word word,
			   double timeout_s)
{
	const struct head *head = base;
	double end_s = clock_s() + timeout_s;
	uint32_t now;

	while ((now = get_word(base)) != (uint32_t) word) {
		double left_s = end_s - clock_s();
		struct timespec t = { .tv_sec = (time_t) left_s };

		if (left_s <= 0)
			return false;
		t.tv_nsec = (long) ((left_s - (double) t.tv_sec) * 1e9);
		syscall(SYS_futex, &head->word, FUTEX_WAIT, now, &t, NULL, 0);
	}
	return true;
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
	size_t left = row->bytes - piece * PIECE_BYTES;

	return left < PIECE_BYTES ? left : PIECE_BYTES;
}

/* A blob is made in one go; its pieces are summed after that. */
static int write_blob(void *base, int i, const struct plx_image_part *part,
		      struct plx_error *err)
{
	const struct row *row = &rows_of(base)[i];
	const struct pollux_blob *blob = part->blob;
	char *to = (char *) base + row->at;

	if (plx_call_save(blob, to, row->bytes) < 0)
		return plx_fail(err, "state \"%.80s\" cannot be saved",
				part->name);
	for (size_t p = 0; p < pieces_in(row->bytes); p++)
		sums_of(base)[row->first_piece + p] = plx_crc32c(
			0, to + p * PIECE_BYTES, piece_bytes(row, p));
	return 0;
}

struct piece {
	char *to;
	const char *from;
	size_t bytes;
	uint32_t *sum;
};

/* In blocks that stay in the cache, unless they come from a GPU. */
static int write_piece(const struct piece *piece, enum pollux_memory memory,
		       struct plx_error *err)
{
	size_t most = memory == POLLUX_HOST ? BLOCK_BYTES : piece->bytes;
	uint32_t sum = 0;

	for (size_t at = 0; at < piece->bytes; at += most) {
		size_t left = piece->bytes - at;
		size_t bytes = left < most ? left : most;

		if (plx_device_read(piece->to + at, piece->from + at, bytes,
				    memory, err) < 0)
			return -1;
		sum = plx_crc32c(sum, piece->to + at, bytes);
	}
	*piece->sum = sum;
	return 0;
}

/* Pieces are dealt out in turn, over all parts. */
static int write_part(void *base, int i, const struct plx_image_part *part,
		      struct plx_slice slice, struct plx_error *err)
{
	const struct row *row = &rows_of(base)[i];

	if (part->blob)
		return slice.mine == 0 ? write_blob(base, i, part, err) : 0;
	for (size_t p = 0; p < pieces_in(row->bytes); p++) {
		size_t number = row->first_piece + p;
		const struct piece piece = {
			.to = (char *) base + row->at + p * PIECE_BYTES,
			.from = (const char *) part->data + p * PIECE_BYTES,
			.bytes = piece_bytes(row, p),
			.sum = &sums_of(base)[number],
		};

		if (number % (size_t) slice.of == (size_t) slice.mine &&
		    write_piece(&piece, part->memory, err) < 0)
			return -1;
	}
	return 0;
}

int plx_memory_image_write(void *base, const struct plx_parts *parts,
			   struct plx_slice slice, struct plx_error *err)
{
	for (int i = 0; i < parts->count; i++) {
		if (write_part(base, i, &parts->list[i], slice, err) < 0)
			return -1;
	}
	return 0;
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

	if (bytes < sizeof(*head) || get_word(base) != PLX_MEMORY_IMAGE_GOOD)
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

static int verify_part(const void *base, int i, struct plx_slice slice,
		       struct plx_error *err)
{
	const struct row *row = &rows_of(base)[i];

	for (size_t p = 0; p < pieces_in(row->bytes); p++) {
		size_t number = row->first_piece + p;
		const char *from =
			(const char *) base + row->at + p * PIECE_BYTES;

		if (number % (size_t) slice.of == (size_t) slice.mine &&
		    plx_crc32c(0, from, piece_bytes(row, p)) !=
			    sums_of(base)[number])
			return plx_fail(err, "state in memory was changed: "
					     "a checksum is wrong");
	}
	return 0;
}

int plx_memory_image_verify(const void *base, struct plx_slice slice,
			    struct plx_error *err)
{
	const struct head *head = base;

	for (uint32_t i = 0; i < head->parts; i++) {
		if (verify_part(base, (int) i, slice, err) < 0)
			return -1;
	}
	return 0;
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

static int read_part(const void *base, int i, const struct plx_image_part *part,
		     struct plx_error *err)
{
	size_t bytes;
	const void *from = plx_memory_image_part(base, i, &bytes);

	return plx_part_load(part, from, bytes, err);
}

int plx_memory_image_read(const void *base, const struct plx_parts *parts,
			  enum plx_memory_image_what what,
			  struct plx_error *err)
{
	for (int i = 0; i < parts->count; i++) {
		const struct plx_image_part *part = &parts->list[i];
		bool plain = !part->blob && part->memory == POLLUX_HOST;

		if (plain != (what == PLX_MEMORY_IMAGE_PLAIN))
			continue;
		if (read_part(base, i, part, err) < 0)
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
