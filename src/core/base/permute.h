/* SPDX-License-Identifier: MIT */
/*
 * permute.h - a random order of a dataset that needs no memory
 *
 * A Feistel network keyed by seed and epoch, walked until it falls in range:
 * a bijection on [0, count) that does not depend on the number of ranks.
 */
#ifndef PLX_CORE_PERMUTE_H
#define PLX_CORE_PERMUTE_H

#include <stdint.h>

struct plx_order {
	uint64_t seed;
	uint64_t epoch;
	uint64_t count; /* samples in the dataset, >= 1 */
};

/* The sample at this position of the epoch. Requires position < count. */
uint64_t plx_order_at(const struct plx_order *order, uint64_t position);

#endif
