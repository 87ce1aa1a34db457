/* SPDX-License-Identifier: MIT */
/*
 * cuda_host.h - arithmetic on gradients of a GPU, done by the host
 *
 * For machines with a driver and CUDA's runtime but no NVRTC: everything is
 * copied here and back, a piece at a time. Right, and slow.
 */
#ifndef PLX_AGENT_CUDA_HOST_H
#define PLX_AGENT_CUDA_HOST_H

#include "agent/gpu/gradient_cuda.h"

struct plx_cuda_host; /* pieces of arrays, and norms */

struct plx_cuda_host *plx_cuda_host_create(int norms, struct plx_error *err);
void plx_cuda_host_destroy(struct plx_cuda_host *h); /* accepts NULL */

/* As plx_gpu_add(), plx_gpu_mean() and plx_gpu_norms(). */
int plx_cuda_host_add(struct plx_cuda_host *h, const struct plx_gpu_bucket *b,
		      float weight, bool first, struct plx_error *err);
int plx_cuda_host_mean(struct plx_cuda_host *h, const struct plx_gpu_bucket *b,
		       float factor, struct plx_error *err);
void plx_cuda_host_norms(struct plx_cuda_host *h, double *norms);

#endif
