/* SPDX-License-Identifier: MIT */
/*
 * cuda_calls.h - the CUDA runtime, opened when it is first needed
 *
 * One build runs on machines with and without GPUs: nothing is linked, and
 * without a driver everything here answers with a sentence. Thread-safe.
 * Only for the files that may see CUDA: coll_nccl*.c and cuda_*.c.
 */
#ifndef PLX_AGENT_CUDA_CALLS_H
#define PLX_AGENT_CUDA_CALLS_H

#include <stddef.h>

/* Their headers are not held to our warnings. */
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wundef"
#pragma GCC diagnostic ignored "-Wstrict-prototypes"
#include <cuda_runtime_api.h>
#pragma GCC diagnostic pop

#include "core/base/error.h"

/* What we call, by the types of the header. */
struct plx_cuda {
	__typeof__(&cudaGetDeviceCount) device_count;
	__typeof__(&cudaGetDevice) get_device;
	__typeof__(&cudaSetDevice) set_device;
	__typeof__(&cudaDeviceGetAttribute) attribute;
	cudaError_t (*alloc)(void **, size_t);
	__typeof__(&cudaFree) release;
	__typeof__(&cudaMemGetInfo) memory;
	cudaError_t (*host_alloc)(void **, size_t, unsigned int);
	__typeof__(&cudaFreeHost) host_release;
	__typeof__(&cudaMemcpy) copy;
	__typeof__(&cudaMemcpyAsync) copy_async;
	__typeof__(&cudaMemsetAsync) fill_async;
	__typeof__(&cudaPointerGetAttributes) whose;
	__typeof__(&cudaStreamCreateWithFlags) stream_create;
	__typeof__(&cudaStreamDestroy) stream_destroy;
	__typeof__(&cudaStreamSynchronize) stream_wait;
	__typeof__(&cudaStreamWaitEvent) stream_after;
	cudaError_t (*event_create)(cudaEvent_t *, unsigned int);
	__typeof__(&cudaEventDestroy) event_destroy;
	__typeof__(&cudaEventQuery) event_query;
	cudaError_t (*event_record)(cudaEvent_t, cudaStream_t);
	__typeof__(&cudaEventSynchronize) event_wait;
	cudaError_t (*event_elapsed)(float *, cudaEvent_t, cudaEvent_t);
	__typeof__(&cudaGetErrorString) text;
	__typeof__(&cudaGetLastError) forget;
};

/* One symbol and where its address goes. */
struct plx_symbol {
	const char *name;
	void *slot; /* of a function pointer */
};

/*
 * The library that the process has loaded already, under whatever version;
 * else the first of these names that can be opened. It stays open. All names
 * are one library's, and alike up to their first '.'.
 */
void *plx_cuda_open(const char *const *names, struct plx_error *err);

/* All of these symbols, or -1 with the missing one's name. */
int plx_cuda_find(void *library, const struct plx_symbol *symbols, size_t count,
		  struct plx_error *err);

/*
 * The one place where this rank's GPU is decided, once a process:
 *
 * 1. the GPU that the program's memory is on (plx_cuda_belongs());
 * 2. the current one, if the program has made another than the first current;
 * 3. that of LOCAL_RANK, else of local_rank, among those that are visible
 *    (CUDA_VISIBLE_DEVICES, device cgroups); where fewer are visible than
 *    ranks are on the node, they take turns.
 *
 * It becomes the calling thread's current device. device may be NULL.
 */
int plx_cuda_choose(int local_rank, int *device, struct plx_error *err);

/* This memory is the program's, on its GPU; ignored where it is no GPU's. */
void plx_cuda_belongs(const void *data);

/* NULL with err set where there is no driver or no runtime. */
const struct plx_cuda *plx_cuda_get(struct plx_error *err);

/* -1 with a sentence, unless code is cudaSuccess. */
int plx_cuda_check(cudaError_t code, const char *what, struct plx_error *err);

/* The GPU that has this memory; -1 with err set where none has. */
int plx_cuda_device(const void *data, struct plx_error *err);

/*
 * That GPU is the calling thread's current one until plx_cuda_leave(), which
 * takes what this returns, and before. A device of -1 is one that was not
 * found, with err set: -1 then, as where it fails.
 */
int plx_cuda_enter(int device, int *before, struct plx_error *err);
int plx_cuda_leave(int device, int before, struct plx_error *err);

/*
 * The same to the end of the thread, which is ours: this process's GPU where it
 * is known by now, else the one that has this memory, if any. To go back to GPU
 * 0, where a thread begins, would take memory there.
 */
void plx_cuda_adopt(const void *data);

#define PLX_CUDA_COPY "copy between host and GPU" /* what failed */

/*
 * Between memory of host and device, either way, whichever GPU it is on;
 * after all work on the legacy default stream so far. Blocks.
 */
int plx_cuda_copy(void *to, const void *from, size_t bytes,
		  struct plx_error *err);

#endif
