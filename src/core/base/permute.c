/* SPDX-License-Identifier: MIT */
/*
 * permute.c - a random order of a dataset that needs no memory
 *
 * Six rounds of a balanced Feistel network are a bijection on [0, 4^b), the
 * smallest that holds count and so less than four times as large. What falls
 * outside is sent through again: the first value in range on the cycle of a
 * position makes a bijection on [0, count), found in under four turns on
 * average.
 */
#include <assert.h>

#include "core/base/permute.h"

enum { ROUNDS = 6 };

/* David Stafford's variant 13 of MurmurHash3's finaliser. */
static uint64_t mix(uint64_t x)
{
	x = (x ^ (x >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
	x = (x ^ (x >> 27)) * UINT64_C(0x94d049bb133111eb);
	return x ^ (x >> 31);
}

/* Bits of half a position: the network covers [0, 4^bits). */
static int half_bits(uint64_t count)
{
	int bits = 1;

	while (bits < 32 && (count - 1) >> (2 * bits))
		bits++;
	return bits;
}

static uint64_t feistel(uint64_t x, const uint64_t keys[ROUNDS], int bits)
{
	uint64_t mask = (UINT64_C(1) << bits) - 1;
	uint64_t left = x >> bits;
	uint64_t right = x & mask;

	for (int i = 0; i < ROUNDS; i++) {
		uint64_t next = left ^ (mix(right ^ keys[i]) & mask);

		left = right;
		right = next;
	}
	return left << bits | right;
}

uint64_t plx_order_at(const struct plx_order *order, uint64_t position)
{
	uint64_t keys[ROUNDS];
	uint64_t key = mix(mix(order->seed) + order->epoch);
	int bits = half_bits(order->count);
	uint64_t x = position;

	assert(position < order->count);
	for (int i = 0; i < ROUNDS; i++) {
		key += UINT64_C(0x9e3779b97f4a7c15); /* golden ratio */
		keys[i] = mix(key);
	}
	do {
		x = feistel(x, keys, bits);
	} while (x >= order->count);
	return x;
}
