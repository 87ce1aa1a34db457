/* SPDX-License-Identifier: MIT */
/* unit.h - what every CMocka test includes */
#ifndef PLX_UNIT_H
#define PLX_UNIT_H

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#define ARRAY_SIZE(a) (sizeof(a) / sizeof((a)[0]))

/*
 * How many random cases are tried of so many: a fifth under sanitizers, where
 * each takes ten times as long and what it reads and writes is what is looked
 * at.
 */
#ifdef __SANITIZE_ADDRESS__
#define UNIT_CASES(count) (((count) + 4) / 5)
#else
#define UNIT_CASES(count) (count)
#endif

/* A small generator for random cases: the same on every machine. */
static inline uint64_t unit_random(uint64_t *state)
{
	*state = *state * 6364136223846793005ULL + 1442695040888963407ULL;
	return *state >> 33;
}

/* Uniform in [low, high). */
static inline double unit_uniform(uint64_t *state, double low, double high)
{
	return low + (high - low) * (double) unit_random(state) / 2147483648.0;
}

#endif
