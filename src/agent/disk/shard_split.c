/* SPDX-License-Identifier: MIT */
/* shard_split.c - which part of the state each rank writes */
#include <config.h>

#include <stdlib.h>
#include <string.h>

#include "agent/disk/shard_split.h"
#include "core/base/crc.h"

/* A tensor may exceed a fair share by this factor before it is cut. */
#define CUT_ABOVE 1.25

static int add(struct plx_partition *p, const struct plx_piece *piece)
{
	if (p->count == p->capacity) {
		int capacity = p->capacity ? 2 * p->capacity : 64;
		struct plx_piece *more =
			realloc(p->pieces, (size_t) capacity * sizeof(*more));

		if (!more)
			return -1;
		p->pieces = more;
		p->capacity = capacity;
	}
	p->pieces[p->count++] = *piece;
	return 0;
}

/* "F32": 4. */
static int number_bytes(const struct plx_tensor *t)
{
	int bits = atoi(t->dtype + strcspn(t->dtype, "0123456789"));

	return bits >= 8 ? bits / 8 : 1;
}

/* Tensor number `i` in as few pieces as have at most `fair` bytes. */
static int cut(struct plx_partition *p, const struct plx_tensor *t, int i,
	       uint64_t fair)
{
	uint64_t rows = t->dims > 0 ? t->shape[0] : 1;
	uint64_t parts = 1;
	struct plx_piece piece = { .tensor = i, .align = number_bytes(t) };

	if (rows > 1 && (double) t->bytes > CUT_ABOVE * (double) fair)
		parts = (t->bytes + fair - 1) / fair;
	if (parts > rows)
		parts = rows;
	piece.whole = parts <= 1;
	if (piece.whole) {
		piece.rows = rows;
		piece.bytes = t->bytes;
		return add(p, &piece);
	}
	for (uint64_t k = 0; k < parts; k++) {
		uint64_t row_bytes = t->bytes / rows;
		uint64_t end = rows / parts * (k + 1) +
			       (k + 1 < rows % parts ? k + 1 : rows % parts);

		piece.first_row += piece.rows;
		piece.rows = end - piece.first_row;
		piece.offset = piece.first_row * row_bytes;
		piece.bytes = piece.rows * row_bytes;
		if (add(p, &piece) < 0)
			return -1;
	}
	return 0;
}

static int largest_first(const void *a, const void *b)
{
	const struct plx_piece *x = a;
	const struct plx_piece *y = b;

	if (x->bytes != y->bytes)
		return x->bytes < y->bytes ? 1 : -1;
	if (x->tensor != y->tensor)
		return x->tensor < y->tensor ? -1 : 1;
	return (x->first_row > y->first_row) - (x->first_row < y->first_row);
}

/* Wide numbers first: so each begins where its readers can map it. */
static int in_file_order(const void *a, const void *b)
{
	const struct plx_piece *x = a;
	const struct plx_piece *y = b;

	if (x->shard != y->shard)
		return x->shard < y->shard ? -1 : 1;
	if (x->align != y->align)
		return x->align < y->align ? 1 : -1;
	if (x->tensor != y->tensor)
		return x->tensor < y->tensor ? -1 : 1;
	return (x->first_row > y->first_row) - (x->first_row < y->first_row);
}

/* The largest first, each to the shard that has least. */
static int deal(struct plx_partition *p)
{
	uint64_t *loads = calloc((size_t) p->shards, sizeof(*loads));

	if (!loads)
		return -1;
	if (p->count)
		qsort(p->pieces, (size_t) p->count, sizeof(*p->pieces),
		      largest_first);
	for (int i = 0; i < p->count; i++) {
		int least = 0;

		for (int s = 1; s < p->shards; s++) {
			if (loads[s] < loads[least])
				least = s;
		}
		p->pieces[i].shard = least;
		loads[least] += p->pieces[i].bytes;
	}
	free(loads);
	return 0;
}

static int count_shards(uint64_t bytes, int ranks)
{
	uint64_t shards = bytes / PLX_SHARD_MIN;

	if (shards < 1)
		return 1;
	return shards < (uint64_t) ranks ? (int) shards : ranks;
}

int plx_partition_shards(const struct plx_tensor *tensors, int shared,
			 int ranks)
{
	uint64_t bytes = 0;

	for (int i = 0; i < shared; i++)
		bytes += tensors[i].bytes;
	return count_shards(bytes, ranks);
}

int plx_partition_make(struct plx_partition *out,
		       const struct plx_tensor *tensors, int shared, int count,
		       int shards)
{
	uint64_t bytes = 0;
	uint64_t fair;

	*out = (struct plx_partition){ 0 };
	for (int i = 0; i < shared; i++)
		bytes += tensors[i].bytes;
	out->shards = shards;
	fair = bytes / (uint64_t) out->shards + 1;
	for (int i = 0; i < shared; i++) {
		if (cut(out, &tensors[i], i, fair) < 0)
			return -1;
	}
	if (deal(out) < 0)
		return -1;
	for (int i = shared; i < count; i++) {
		if (cut(out, &tensors[i], i, UINT64_MAX) < 0)
			return -1;
	}
	if (out->count)
		qsort(out->pieces, (size_t) out->count, sizeof(*out->pieces),
		      in_file_order);
	return plx_partition_measure(out, tensors, shared);
}

int plx_partition_append(struct plx_partition *partition,
			 const struct plx_tensor *tensors, int first)
{
	for (int i = 0; i < partition->shards; i++) {
		const struct plx_piece piece = {
			.tensor = first + i,
			.shard = i,
			.whole = true,
			.rows = tensors[first + i].bytes,
			.bytes = tensors[first + i].bytes,
		};

		if (add(partition, &piece) < 0)
			return -1;
	}
	qsort(partition->pieces, (size_t) partition->count,
	      sizeof(*partition->pieces), in_file_order);
	return 0;
}

int plx_partition_measure(struct plx_partition *partition,
			  const struct plx_tensor *tensors, int shared)
{
	uint64_t *after = calloc((size_t) shared + 1, sizeof(*after));

	if (!after)
		return -1;
	for (int i = shared - 1; i >= 0; i--)
		after[i] = after[i + 1] + tensors[i].bytes;
	for (int i = 0; i < partition->count; i++) {
		struct plx_piece *piece = &partition->pieces[i];

		if (piece->tensor < shared)
			piece->after = after[piece->tensor] - piece->offset -
				       piece->bytes;
	}
	free(after);
	return 0;
}

void plx_partition_release(struct plx_partition *partition)
{
	free(partition->pieces);
	*partition = (struct plx_partition){ 0 };
}

int plx_partition_of(struct plx_partition *partition, int shard,
		     struct plx_piece **first)
{
	int count = 0;

	*first = partition->pieces;
	for (int i = 0; i < partition->count; i++) {
		if (partition->pieces[i].shard != shard)
			continue;
		if (!count++)
			*first = &partition->pieces[i];
	}
	return count;
}

uint32_t plx_piece_crc(const struct plx_piece *piece, int shared, uint32_t crc)
{
	if (piece->tensor >= shared)
		return 0;
	return plx_crc32c_join(crc, 0, piece->after);
}
