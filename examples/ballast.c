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

/* What is in each megabyte before the first step. */
static void fill(float *megabyte)
{
	for (size_t i = 0; i < STRIDE; i++)
		megabyte[i] = -(float) i;
}

static int init_gpu(struct ballast *b)
{
	float *megabyte = malloc(STRIDE * sizeof(*megabyte));
	int rc = -1;

	b->data = gpu_alloc(b->cuda->gpu, b->n * sizeof(float));
	if (megabyte && b->data) {
		fill(megabyte);
		rc = 0;
	}
	for (size_t at = 0; rc == 0 && at < b->n; at += STRIDE)
		rc = gpu_write(b->cuda->gpu, b->data + at, megabyte,
			       STRIDE * sizeof(float));
	free(megabyte);
	return rc;
}

int ballast_init(struct ballast *ballast, int mb, struct mlp_cuda *cuda)
{
	*ballast = (struct ballast){ .n = (size_t) mb * STRIDE, .cuda = cuda };
	if (!mb)
		return 0;
	if (cuda)
		return init_gpu(ballast);
	ballast->data = malloc(ballast->n * sizeof(float));
	if (!ballast->data)
		return -1;
	for (size_t at = 0; at < ballast->n; at += STRIDE)
		fill(ballast->data + at);
	return 0;
}

int ballast_step(struct ballast *ballast, uint64_t step)
{
	size_t first = step % STRIDE;

	if (ballast->cuda)
		return mlp_cuda_mark(ballast->cuda, ballast->data, ballast->n,
				     STRIDE, first, mark(step));
	for (size_t i = first; i < ballast->n; i += STRIDE)
		ballast->data[i] = mark(step);
	return 0;
}

static bool megabyte_right(const float *megabyte, uint64_t steps)
{
	uint64_t from = steps < WINDOW ? 0 : steps - WINDOW;

	for (uint64_t s = from; s < steps; s++) {
		if (megabyte[s % STRIDE] != mark(s))
			return false;
	}
	/* And not of a later step. */
	return steps >= STRIDE || megabyte[steps] <= 0;
}

bool ballast_right(const struct ballast *ballast, uint64_t steps)
{
	float *copy = malloc(STRIDE * sizeof(*copy));
	bool right = copy != NULL;

	for (size_t at = 0; right && at < ballast->n; at += STRIDE) {
		const float *megabyte = ballast->data + at;

		if (ballast->cuda) {
			right = gpu_read(ballast->cuda->gpu, copy, megabyte,
					 STRIDE * sizeof(*copy)) == 0;
			megabyte = copy;
		}
		right = right && megabyte_right(megabyte, steps);
	}
	free(copy);
	return right;
}

void ballast_release(struct ballast *ballast)
{
	if (ballast->cuda)
		gpu_free(ballast->cuda->gpu, ballast->data);
	else
		free(ballast->data);
	ballast->data = NULL;
}
