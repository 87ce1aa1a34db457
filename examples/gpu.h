/* SPDX-License-Identifier: MIT */
/*
 * gpu.h - as much of CUDA as the example needs
 *
 * Opened at run time and declared here by hand, so that this builds without
 * the toolkit and runs without a GPU. All work goes to the default stream,
 * in order; reads wait for it. Errors end in a sentence of the GPU's.
 */
#ifndef TRAIN_GPU_H
#define TRAIN_GPU_H

#include <stddef.h>

struct gpu;

/* A GPU of this rank's, with these kernels; NULL and gpu_error(NULL). */
struct gpu *gpu_open(const char *source);
void gpu_close(struct gpu *gpu); /* accepts NULL */

/* The last sentence. */
const char *gpu_error(void);

/* 0, or NULL or -1 with a sentence. */
void *gpu_alloc(struct gpu *gpu, size_t bytes);
int gpu_write(struct gpu *gpu, void *to, const void *from, size_t bytes);
int gpu_read(struct gpu *gpu, void *to, const void *from, size_t bytes);
void gpu_free(struct gpu *gpu, void *data); /* accepts NULL */

/* A kernel of the source. */
void *gpu_kernel(struct gpu *gpu, const char *name);

/* Have it run by at least that many threads. */
int gpu_run(struct gpu *gpu, void *kernel, size_t threads, void **arguments);

#endif
