/* SPDX-License-Identifier: MIT */
/* gradient_cuda.c - gradient_cuda.h, where libpollux is built without CUDA */
#include <config.h>

#include "agent/gpu/gradient_cuda.h"

struct plx_gpu *plx_gpu_create(int norms, int local_rank, struct plx_error *err)
{
	(void) norms;
	(void) local_rank;
	plx_fail(err, "this libpollux was built without CUDA");
	return NULL;
}

void plx_gpu_destroy(struct plx_gpu *gpu)
{
	(void) gpu;
}

const char *plx_gpu_note(const struct plx_gpu *gpu)
{
	(void) gpu;
	return NULL;
}

float *plx_gpu_alloc(struct plx_gpu *gpu, size_t n, struct plx_error *err)
{
	(void) gpu;
	(void) n;
	plx_fail(err, "this libpollux was built without CUDA");
	return NULL;
}

void plx_gpu_free(struct plx_gpu *gpu, float *data)
{
	(void) gpu;
	(void) data;
}

int plx_gpu_memory(struct plx_gpu *gpu, size_t *unused, size_t *all)
{
	(void) gpu;
	(void) unused;
	(void) all;
	return -1;
}

int plx_gpu_add(struct plx_gpu *gpu, const struct plx_gpu_bucket *bucket,
		float weight, bool first, struct plx_error *err)
{
	(void) gpu;
	(void) bucket;
	(void) weight;
	(void) first;
	return plx_fail(err, "this libpollux was built without CUDA");
}

int plx_gpu_mean(struct plx_gpu *gpu, const struct plx_gpu_bucket *bucket,
		 float factor, struct plx_error *err)
{
	(void) gpu;
	(void) bucket;
	(void) factor;
	return plx_fail(err, "this libpollux was built without CUDA");
}

int plx_gpu_norms(struct plx_gpu *gpu, double *norms, struct plx_error *err)
{
	(void) gpu;
	(void) norms;
	return plx_fail(err, "this libpollux was built without CUDA");
}

int plx_gpu_mark(struct plx_gpu *gpu, enum plx_gpu_mark mark,
		 struct plx_error *err)
{
	(void) gpu;
	(void) mark;
	return plx_fail(err, "this libpollux was built without CUDA");
}

double plx_gpu_between(struct plx_gpu *gpu)
{
	(void) gpu;
	return -1;
}
