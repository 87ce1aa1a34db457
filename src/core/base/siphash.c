/* SPDX-License-Identifier: MIT */
/* siphash.c - a hash that nobody can foretell without its key */

#include "core/base/siphash.h"

#define WORD	    8 /* bytes taken in at once */
#define WORD_ROUNDS 2
#define LAST_ROUNDS 4

struct state {
	uint64_t v[4];
};

static uint64_t rotate(uint64_t word, int bits)
{
	return word << bits | word >> (64 - bits);
}

static void mix(struct state *s, int rounds)
{
	uint64_t *v = s->v;

	for (int i = 0; i < rounds; i++) {
		v[0] += v[1];
		v[2] += v[3];
		v[1] = rotate(v[1], 13) ^ v[0];
		v[3] = rotate(v[3], 16) ^ v[2];
		v[0] = rotate(v[0], 32);
		v[2] += v[1];
		v[0] += v[3];
		v[1] = rotate(v[1], 17) ^ v[2];
		v[3] = rotate(v[3], 21) ^ v[0];
		v[2] = rotate(v[2], 32);
	}
}

static void take_in(struct state *s, uint64_t word)
{
	s->v[3] ^= word;
	mix(s, WORD_ROUNDS);
	s->v[0] ^= word;
}

/* Lowest byte first, on every machine. */
static uint64_t read_word(const unsigned char *from, size_t bytes)
{
	uint64_t word = 0;

	for (size_t i = 0; i < bytes; i++)
		word |= (uint64_t) from[i] << (8 * i);
	return word;
}

uint64_t plx_siphash(const uint64_t key[2], const void *data, size_t size)
{
	const unsigned char *from = data;
	size_t left = size % WORD;
	struct state s = { {
		key[0] ^ UINT64_C(0x736f6d6570736575),
		key[1] ^ UINT64_C(0x646f72616e646f6d),
		key[0] ^ UINT64_C(0x6c7967656e657261),
		key[1] ^ UINT64_C(0x7465646279746573),
	} };

	for (size_t at = 0; at + WORD <= size; at += WORD)
		take_in(&s, read_word(from + at, WORD));
	take_in(&s,
		(uint64_t) size << 56 | read_word(from + size - left, left));
	s.v[2] ^= 0xff;
	mix(&s, LAST_ROUNDS);
	return s.v[0] ^ s.v[1] ^ s.v[2] ^ s.v[3];
}
