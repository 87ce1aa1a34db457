/* SPDX-License-Identifier: MIT */
/*
 * names.h - which tensor or blob has a name
 *
 * A hash table of what is registered, so that n of them cost n looks. It holds
 * numbers, not pointers: the arrays move as they grow.
 */
#ifndef PLX_AGENT_NAMES_H
#define PLX_AGENT_NAMES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct plx_registered;

/* Of zeros: empty. */
struct plx_names {
	uint32_t *slots; /* 0: free; else 2 * number + 1 + is_blob */
	size_t capacity; /* of them, a power of two */
	size_t used;
	uint64_t looks; /* at names so far: for tests */
};

/* The number of that tensor, or blob; -1: there is none. */
int plx_names_tensor(struct plx_registered *r, const char *name);
int plx_names_blob(struct plx_registered *r, const char *name);

/* What was just registered under that number. -1: out of memory. */
int plx_names_add(struct plx_registered *r, int number, bool is_blob);

void plx_names_release(struct plx_names *names);

#endif
