/* SPDX-License-Identifier: MIT */
/*
 * fake_cuda.h - CUDA, NCCL and NVRTC over host memory, for tests
 *
 * Stands in for libcuda, libcudart, libnccl and libnvrtc where there is no
 * GPU: it checks who calls what in which order, not how fast. As with the
 * real ones, work that is put on a stream is done later (here, when somebody
 * asks how far it is, by a clock that goes on meanwhile), what is being copied
 * is not a number until it is there, new memory is not zero, device memory
 * cannot be touched from the host, and a sum over ranks ends only when all
 * ranks take part. Kernels are compiled from their source for the host and run
 * thread by thread.
 *
 * fake_cuda.c  memory, streams, events    fake_nccl.c  sums over ranks
 * fake_nvrtc.c kernels
 */
#ifndef FAKE_CUDA_H
#define FAKE_CUDA_H

#include <stdbool.h>
#include <stddef.h>

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wundef"
#pragma GCC diagnostic ignored "-Wstrict-prototypes"
#include <cuda_runtime_api.h>
#pragma GCC diagnostic pop

/* The next thing on a stream: true when it is done, false: not yet. */
typedef bool fake_work(void *what);

void fake_enqueue(cudaStream_t stream, fake_work *work, void *what,
		  size_t bytes);

/* The same for a kernel, which takes its time. */
void fake_enqueue_kernel(cudaStream_t stream, fake_work *work, void *what,
			 size_t bytes);

/* Memory of a GPU that is not the current one is no good for what follows. */
void fake_check_device(const void *data);

/* Take back what of this work is still on the stream. */
void fake_drop(cudaStream_t stream, fake_work *work);

/* Device memory can be touched in between. */
void fake_open_memory(void);
void fake_close_memory(void);

/* The program is wrong: say so and end. */
void fake_die(const char *sentence) __attribute__((noreturn));

#endif
