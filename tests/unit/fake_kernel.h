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

/* Of __builtin_setjmp(): unlike swapcontext() it makes no system call. */
struct fake_place {
	void *words[5];
};

static fake_place fake_main;
static fake_place fake_thread[FAKE_THREADS];
static char fake_stack[FAKE_THREADS][FAKE_STACK];
static bool fake_made[FAKE_THREADS];
static bool fake_alive[FAKE_THREADS];
static void (*fake_body)(void **);
static void **fake_args;

__attribute__((noinline)) static void fake_to_main()
{
	__builtin_longjmp(fake_main.words, 1);
}

__attribute__((noinline)) static void fake_to_thread(unsigned int t)
{
	__builtin_longjmp(fake_thread[t].words, 1);
}

__attribute__((noinline)) static void fake_pause(unsigned int me)
{
	if (!__builtin_setjmp(fake_thread[me].words))
		fake_to_main();
}

static inline void __syncthreads()
{
	unsigned int me = threadIdx.x;

	fake_pause(me);
	threadIdx.x = me;
}

/* A thread, of one block after the other. */
static void fake_enter()
{
	for (;;) {
		fake_body(fake_args);
		fake_alive[threadIdx.x] = false;
		fake_pause(threadIdx.x);
	}
}

static void fake_make(unsigned int t)
{
	static ucontext_t context;

	fake_made[t] = true;
	getcontext(&context);
	context.uc_stack.ss_sp = fake_stack[t];
	context.uc_stack.ss_size = FAKE_STACK;
	context.uc_link = nullptr;
	makecontext(&context, fake_enter, 0);
	setcontext(&context);
}

__attribute__((noinline)) static void fake_resume(unsigned int t)
{
	threadIdx.x = t;
	if (__builtin_setjmp(fake_main.words))
		return;
	if (fake_made[t])
		fake_to_thread(t);
	fake_make(t);
}

static void fake_block(unsigned int threads)
{
	unsigned int left = threads;

	for (unsigned int t = 0; t < threads; t++)
		fake_alive[t] = true;
	while (left) {
		for (unsigned int t = 0; t < threads; t++) {
			if (!fake_alive[t])
				continue;
			fake_resume(t);
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
