/* SPDX-License-Identifier: MIT */
/*
 * sized.h - structs of programs that were built with another pollux.h
 *
 * Later releases add fields at a struct's end. The functions that take or fill
 * one are told its size in the program (decision 0121).
 */
#ifndef PLX_AGENT_SIZED_H
#define PLX_AGENT_SIZED_H

#include <stddef.h>

#include "core/base/error.h"

/* The bytes of a struct up to its field `last`. */
#define PLX_UP_TO(type, last)                                                  \
	(offsetof(struct type, last) + sizeof(((struct type *) NULL)->last))

struct plx_sized {
	const char *call;
	const char *name; /* of the argument */
	size_t first;	  /* bytes that it had in the first release */
	size_t now;
};

/* Can the program's struct be filled? 0, or -1 and why not. */
int plx_sized_check(const struct plx_sized *is, size_t size,
		    struct plx_error *err);

/*
 * Copy what the program has to *to, which has is->now bytes: fields that its
 * pollux.h has not are 0. -1 and why where it has a struct that no release had,
 * or one with a field that is not known here and is not 0.
 */
int plx_sized_take(const struct plx_sized *is, const void *from, size_t size,
		   void *to, struct plx_error *err);

/* Fill it with what it has fields for; what else it has becomes 0. */
void plx_sized_fill(const struct plx_sized *is, const void *from, void *to,
		    size_t size);

#endif
