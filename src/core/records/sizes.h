/* SPDX-License-Identifier: MIT */
/*
 * sizes.h - numbers of GPUs that a job may run on
 *
 * A user lists them (sizes=1,2,4,8) or gives a step (step=8: its multiples).
 * The functions on a list take rising numbers; an empty list allows any.
 */
#ifndef PLX_CORE_SIZES_H
#define PLX_CORE_SIZES_H

#include <stdbool.h>
#include <stddef.h>

#include "core/base/error.h"

#define PLX_SIZES_MAX  32  /* in a list that a user writes */
#define PLX_SIZES_TEXT 256 /* of such a list, with the final NUL */

/* As a user said it; zeroed: any number. */
struct plx_sizes {
	int step;  /* multiples of it; 0: no step */
	int count; /* of the list; 0: no list */
	int list[PLX_SIZES_MAX];
};

/* The fewest GPUs that are allowed, `gpus` or more; 0: there is no such size.
 */
int plx_listed_up(const int *list, int count, int gpus);
/* The most GPUs that are allowed, `gpus` or fewer; 0: there is no such size. */
int plx_listed_down(const int *list, int count, int gpus);
bool plx_listed(const int *list, int count, int gpus);

/* The same of what a user said. */
int plx_sizes_up(const struct plx_sizes *sizes, int gpus);
int plx_sizes_down(const struct plx_sizes *sizes, int gpus);
bool plx_sizes_allow(const struct plx_sizes *sizes, int gpus);

/* Is there anything that says which numbers? */
bool plx_sizes_given(const struct plx_sizes *sizes);

/* "sizes=1,2,4,8" or "step=8", at most PLX_SIZES_TEXT bytes; "" for any. */
void plx_sizes_text(const struct plx_sizes *sizes, char *text, size_t size);

/*
 * The sizes from `least` to `most` as a list, which the caller frees; NULL and
 * 0 where any number is allowed.
 */
int plx_sizes_list(const struct plx_sizes *sizes, int least, int most,
		   int **list, int *count, struct plx_error *err);

/*
 * What is left of GPUs on `count` nodes where each is to have as many: the
 * most GPUs in all of an allowed size. Returns those on each of *nodes nodes;
 * 0: there is no such shape.
 */
int plx_sizes_level(const struct plx_sizes *sizes, const int *gpus, int count,
		    int *nodes);

#endif
