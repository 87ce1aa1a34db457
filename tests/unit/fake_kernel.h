/* SPDX-License-Identifier: MIT */
/*
 * fake_kernel.h - what a kernel's source needs to be C++ of the host
 *
 * Blocks run one after the other; a block's threads take turns, each until it
 * ends or comes to __syncthreads(). Included by fake_nvrtc.c's output only.
 */
#ifndef FAKE_KERNEL_H
#define FAKE_KERNEL_H

#include <cmath>
#include <cstddef>
#include <ucontext.h>
#include <utility>

#define __global__
#define __device__
#define __shared__ static

struct fake_index {
	unsigned int x, y, z;
};

static fake_index threadIdx, blockIdx, blockDim, gridDim;

enum { FAKE_THREADS = 1024, FAKE_STACK = 32768 };

static ucontext_t fake_main;
static ucontext_t fake_context[FAKE_THREADS];
static char fake_stack[FAKE_THREADS][FAKE_STACK];
static bool fake_alive[FAKE_THREADS];
static void (*fake_body)(void **);
static void **fake_args;

static inline void __syncthreads()
{
	unsigned int me = threadIdx.x;

	swapcontext(&fake_context[me], &fake_main);
	threadIdx.x = me;
}

static void fake_enter()
{
	unsigned int me = threadIdx.x;

	fake_body(fake_args);
	fake_alive[me] = false;
	swapcontext(&fake_context[me], &fake_main);
}

static void fake_block(unsigned int threads)
{
	unsigned int left = threads;

	for (unsigned int t = 0; t < threads; t++) {
		getcontext(&fake_context[t]);
		fake_context[t].uc_stack.ss_sp = fake_stack[t];
		fake_context[t].uc_stack.ss_size = FAKE_STACK;
		fake_context[t].uc_link = nullptr;
		makecontext(&fake_context[t], fake_enter, 0);
		fake_alive[t] = true;
	}
	while (left) {
		for (unsigned int t = 0; t < threads; t++) {
			if (!fake_alive[t])
				continue;
			threadIdx.x = t;
			swapcontext(&fake_main, &fake_context[t]);
			left -= !fake_alive[t];
		}
	}
}

template <auto kernel, class... A, size_t... I>
static void fake_call(void (*)(A...), void **args, std::index_sequence<I...>)
{
	kernel(*static_cast<A *>(args[I])...);
}

template <auto kernel, class... A>
static void fake_typed(void (*f)(A...), void **args)
{
	fake_call<kernel>(f, args, std::index_sequence_for<A...>());
}

template <class... A> static size_t fake_size(void (*)(A...), int i)
{
	const size_t sizes[] = { sizeof(A)..., 0 };

	return sizes[i];
}

#define fake_run(kernel, blocks, threads, args)                                \
	do {                                                                   \
		fake_body = [](void **all) {                                   \
			fake_typed<kernel>(kernel, all);                       \
		};                                                             \
		fake_args = args;                                              \
		blockDim.x = threads;                                          \
		gridDim.x = blocks;                                            \
		for (blockIdx.x = 0; blockIdx.x < blocks; blockIdx.x++)        \
			fake_block(threads);                                   \
	} while (0)

#endif
