/* SPDX-License-Identifier: MIT */
/*
 * cuda_kernels.h - functions for the GPU, compiled when they are needed
 *
 * NVRTC turns the source into code for the current device, the driver loads
 * it; both are opened at run time. No compiler is needed to build this.
 */
#ifndef PLX_AGENT_CUDA_KERNELS_H
#define PLX_AGENT_CUDA_KERNELS_H

#include <stddef.h>

#include "core/base/error.h"

struct plx_kernels; /* loaded code */

/*
 * Compile for the current device, whose context the CUDA runtime has made.
 * NULL with err set, by one line of the compiler's where it is the source.
 * The caller's to destroy, with the device still current.
 */
struct plx_kernels *plx_kernels_create(const char *source,
				       struct plx_error *err);
void plx_kernels_destroy(struct plx_kernels *k); /* accepts NULL */

/* The function of that name (extern "C"), NULL with err set. */
void *plx_kernels_find(struct plx_kernels *k, const char *name,
		       struct plx_error *err);

/*
 * Run it on the legacy default stream: arguments as cuLaunchKernel() wants
 * them. Returns before it has run.
 */
int plx_kernels_launch(struct plx_kernels *k, void *function,
		       unsigned int blocks, unsigned int threads,
		       void **arguments, struct plx_error *err);

#endif
