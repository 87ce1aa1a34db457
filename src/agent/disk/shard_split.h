/* SPDX-License-Identifier: MIT */
/*
 * shard_split.h - which part of the state each rank writes
 *
 * Every rank holds all of it, so each writes a share: whole tensors, dealt
 * out by size; one that is more than a fair share is cut between rows. All
 * ranks come to the same result by themselves. Pure.
 */
#ifndef PLX_AGENT_SHARD_SPLIT_H
#define PLX_AGENT_SHARD_SPLIT_H

#include "agent/disk/checkpoint.h"

/* A tensor, or rows of one: what is one tensor to readers of the file. */
struct plx_piece {
	int tensor;	    /* number of it */
	int shard;	    /* from 0 */
	bool whole;	    /* else, of its first dimension: */
	uint64_t first_row; /* from 0 */
	uint64_t rows;
	uint64_t offset; /* in the tensor, bytes */
	uint64_t bytes;
	int align;	/* bytes of one number: what `at` divides by */
	uint64_t after; /* bytes of arrays behind it, plx_partition_measure() */
	uint64_t at;	/* in the shard's file; set by plx_shard_lay() */
};

struct plx_partition {
	struct plx_piece *pieces; /* by shard, and as they lie there */
	int count;
	int shards;
	int capacity;
};

/* No shard is made for less than this. */
#define PLX_SHARD_MIN (UINT64_C(16) << 20)

/* As many as so many ranks make of `shared` tensors. */
int plx_partition_shards(const struct plx_tensor *tensors, int shared,
			 int ranks);

/*
 * Deal out `count` tensors to `shards`; those from number `shared` on, which
 * the other ranks may not know, go to shard 0. Release it, also after a
 * failure.
 */
int plx_partition_make(struct plx_partition *out,
		       const struct plx_tensor *tensors, int shared, int count,
		       int shards);

/*
 * Behind what each shard has: tensor `first` to shard 0, the next one to shard
 * 1, and so on. Each rank knows the size of its own only.
 */
int plx_partition_append(struct plx_partition *partition,
			 const struct plx_tensor *tensors, int first);

/* How much of the first `shared` tensors in a row is behind each piece. */
int plx_partition_measure(struct plx_partition *partition,
			  const struct plx_tensor *tensors, int shared);
void plx_partition_release(struct plx_partition *partition);

/* The pieces of one shard; how many. */
int plx_partition_of(struct plx_partition *partition, int shard,
		     struct plx_piece **first);

/*
 * A measured piece's part of the checksum of the first `shared` tensors in a
 * row, from the piece's own: the xor of all parts is the checksum.
 *
 * The checksum of A, B and C in a row is the xor of A's, taken over zeros as
 * long as B and C, of B's over zeros as long as C, and of C's.
 */
uint32_t plx_piece_crc(const struct plx_piece *piece, int shared, uint32_t crc);

#endif
