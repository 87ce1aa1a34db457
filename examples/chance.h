/* SPDX-License-Identifier: MIT */
/* chance.h - random numbers that can be asked for by number, in any order */
#ifndef TRAIN_CHANCE_H
#define TRAIN_CHANCE_H

#include <stdint.h>

/* Well-mixed bits of (seed, index): the finaliser of splitmix64, twice. */
static inline uint64_t chance_bits(uint64_t seed, uint64_t index)
{
	uint64_t x = seed * 0x9e3779b97f4a7c15u + index;

	for (int i = 0; i < 2; i++) {
		x += 0x9e3779b97f4a7c15u;
		x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
		x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
		x ^= x >> 31;
	}
	return x;
}

/* Uniform in [-1, 1). */
static inline double chance(uint64_t seed, uint64_t index)
{
	return (double) (chance_bits(seed, index) >> 11) / 4503599627370496.0 -
	       1.0;
}

#endif
