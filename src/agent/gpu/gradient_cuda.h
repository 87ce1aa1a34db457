/* SPDX-License-Identifier: MIT */
/*
 * gradient_cuda.h - arithmetic on gradients where they are: on a GPU
 *
 * What gradient.c does with host memory in one fused pass, for buckets in
 * device memory: weighted sums, means and norms. Norms are added to numbered
 * places, read once a step, so that nothing waits for the GPU in between.
 *
 * All work goes to the legacy default stream of the current device: after
 * what the program put there, before what it puts there next. The kernels are
 * compiled at run time (NVRTC); without NVRTC the arithmetic is done on the
 * host, slowly and with the same results up to rounding.
 *
 * Compiles and links without CUDA; create() then says that it is not there.
 */
#ifndef PLX_AGENT_GRADIENT_CUDA_H
#define PLX_AGENT_GRADIENT_CUDA_H

#include <stdbool.h>
#include <stddef.h>

#include "core/base/error.h"

struct plx_gpu; /* one rank's kernels and norms */

/*
 * With this many places for norms, all 0. On the GPU that is this rank's
 * (plx_cuda_choose()). NULL with err set. The caller's to destroy.
 */
struct plx_gpu *plx_gpu_create(int norms, int local_rank,
			       struct plx_error *err);
void plx_gpu_destroy(struct plx_gpu *gpu); /* accepts NULL */

/* Why arithmetic is done on the host; NULL when it is not. */
const char *plx_gpu_note(const struct plx_gpu *gpu);

/* n floats of device memory, all 0. */
float *plx_gpu_alloc(struct plx_gpu *gpu, size_t n, struct plx_error *err);
void plx_gpu_free(struct plx_gpu *gpu, float *data); /* accepts NULL */

/* Bytes of the GPU that nobody uses, and all; -1: it does not say. */
int plx_gpu_memory(struct plx_gpu *gpu, size_t *unused, size_t *all);

/* A bucket's numbers; every pointer is to device memory. */
struct plx_gpu_bucket {
	size_t n;
	float *gradient;	   /* the program's */
	float *sum;		   /* ours */
	float *previous;	   /* the mean before this, or NULL */
	const float *precondition; /* divides each number, or NULL: all 1 */
	int norm;		   /* place: see below */
};

/*
 * sum += weight * gradient (= where first), and norm[place] gets the squared
 * norm of gradient / precondition added. Of weight 0 the gradient is not read.
 */
int plx_gpu_add(struct plx_gpu *gpu, const struct plx_gpu_bucket *bucket,
		float weight, bool first, struct plx_error *err);

/*
 * gradient = factor * sum. norm[place] gets the squared norm of gradient /
 * precondition added, and with `previous` norm[place + 1] the inner product
 * of both, so preconditioned; then previous = gradient.
 */
int plx_gpu_mean(struct plx_gpu *gpu, const struct plx_gpu_bucket *bucket,
		 float factor, struct plx_error *err);

/* All norms, and 0 again. Waits for the work above. */
int plx_gpu_norms(struct plx_gpu *gpu, double *norms, struct plx_error *err);

/*
 * The GPU's own clock. A mark goes behind the work so far; plx_gpu_between()
 * waits until the GPU has come to the end mark. Seconds from the begin mark to
 * it; -1 where one of them was not set.
 */
enum plx_gpu_mark { PLX_GPU_BEGIN, PLX_GPU_END, PLX_GPU_MARKS };
int plx_gpu_mark(struct plx_gpu *gpu, enum plx_gpu_mark mark,
		 struct plx_error *err);
double plx_gpu_between(struct plx_gpu *gpu);

#endif
