/* SPDX-License-Identifier: MIT */
/* ballast.c - state of any size, to see what it costs to save and move it */
#include <stdlib.h>

#include "ballast.h"

#define STRIDE ((size_t) 1 << 18) /* numbers in a megabyte */
#define WINDOW 16		  /* steps that are looked at */

/* A float holds whole numbers up to 2^24. */
static float mark(uint64_t step)
{
	return (float) (1 + step % (1 << 24));
}

int ballast_init(struct ballast *ballast, int mb)
{
	*ballast = (struct ballast){ .n = (size_t) mb * STRIDE };
	if (!mb)
		return 0;
	ballast->data = malloc(ballast->n * sizeof(float));
	if (!ballast->data)
		return -1;
	for (size_t i = 0; i < ballast->n; i++)
		ballast->data[i] = -(float) (i % STRIDE);
	return 0;
}

void ballast_step(struct ballast *ballast, uint64_t step)
{
	for (size_t i = step % STRIDE; i < ballast->n; i += STRIDE)
		ballast->data[i] = mark(step);
}

bool ballast_right(const struct ballast *ballast, uint64_t steps)
{
	uint64_t from = steps < WINDOW ? 0 : steps - WINDOW;

	for (uint64_t s = from; s < steps; s++) {
		for (size_t i = s % STRIDE; i < ballast->n; i += STRIDE) {
			if (ballast->data[i] != mark(s))
				return false;
		}
	}
	/* And not of a later step. */
	for (size_t i = steps % STRIDE; steps < STRIDE && i < ballast->n;
	     i += STRIDE) {
		if (ballast->data[i] > 0)
			return false;
	}
	return true;
}

void ballast_release(struct ballast *ballast)
{
	free(ballast->data);
	ballast->data = NULL;
}
