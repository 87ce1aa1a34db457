/* SPDX-License-Identifier: MIT */
/*
 * cuda_gradient.c - arithmetic on gradients where they are: on a GPU
 *
 * Norms are sums of doubles in a fixed order: each block of a kernel adds to
 * a number of its own, and those are added up when they are read. So the same
 * gradients give the same bits.
 *
 * This project's tests have run it against a stand-in for the libraries
 * only, never yet on a GPU.
 */
#include <config.h>

#include <stdlib.h>
#include <string.h>

#include "agent/gpu/cuda_calls.h"
#include "agent/gpu/cuda_host.h"
#include "agent/gpu/cuda_kernels.h"
#include "agent/gpu/gradient_cuda.h"

enum { BLOCKS = 1024, THREADS = 256 }; /* also in the source below */

/* clang-format off */
static const char source[] =
"#define BLOCKS 1024\n"
"#define THREADS 256\n"
"typedef unsigned long long number;\n"
/* Sum over the block, in a fixed order, to this block's place. */
"static __device__ void note(double mine, double *places)\n"
"{\n"
"	__shared__ double all[THREADS];\n"
"	all[threadIdx.x] = mine;\n"
"	__syncthreads();\n"
"	for (int half = THREADS / 2; half; half /= 2) {\n"
"		if (threadIdx.x < half)\n"
"			all[threadIdx.x] += all[threadIdx.x + half];\n"
"		__syncthreads();\n"
"	}\n"
"	if (threadIdx.x == 0)\n"
"		places[blockIdx.x] += all[0];\n"
"	__syncthreads();\n"
"}\n"
"extern \"C\" __global__ void plx_add(float *sum, const float *gradient,\n"
"	const float *precondition, number n, float weight, int first,\n"
"	double *places)\n"
"{\n"
"	number step = (number) gridDim.x * THREADS;\n"
"	double sqr = 0;\n"
"	for (number i = (number) blockIdx.x * THREADS + threadIdx.x; i < n;\n"
"	     i += step) {\n"
"		float g = weight != 0 ? gradient[i] : 0;\n"
"		double q = precondition ? g / precondition[i] : g;\n"
"		sum[i] = weight * g + (first ? 0 : sum[i]);\n"
"		sqr += q * q;\n"
"	}\n"
"	note(sqr, places);\n"
"}\n"
"extern \"C\" __global__ void plx_mean(float *gradient, const float *sum,\n"
"	float *previous, const float *precondition, number n, float factor,\n"
"	double *places)\n"
"{\n"
"	number step = (number) gridDim.x * THREADS;\n"
"	double sqr = 0;\n"
"	double dot = 0;\n"
"	for (number i = (number) blockIdx.x * THREADS + threadIdx.x; i < n;\n"
"	     i += step) {\n"
"		float g = factor * sum[i];\n"
"		double by = precondition ? precondition[i] : 1;\n"
"		sqr += g / by * (g / by);\n"
"		if (previous) {\n"
"			dot += g / by * (previous[i] / by);\n"
"			previous[i] = g;\n"
"		}\n"
"		gradient[i] = g;\n"
"	}\n"
"	note(sqr, places);\n"
"	if (previous)\n"
"		note(dot, places + BLOCKS);\n"
"}\n"
/* One block: all norms, in the order of their places; places are 0 again. */
"extern \"C\" __global__ void plx_norms(double *places, double *norms,\n"
"	int count)\n"
"{\n"
"	for (int i = threadIdx.x; i < count; i += THREADS) {\n"
"		double sum = 0;\n"
"		for (int b = 0; b < BLOCKS; b++) {\n"
"			sum += places[i * BLOCKS + b];\n"
"			places[i * BLOCKS + b] = 0;\n"
"		}\n"
"		norms[i] = sum;\n"
"	}\n"
"}\n";
/* clang-format on */

struct plx_gpu {
	const struct plx_cuda *cuda;
	struct plx_kernels *kernels; /* NULL: on the host */
	void *add;
	void *mean;
	void *reduce;
	double *places; /* on the GPU: [count][BLOCKS] */
	double *norms;	/* on the GPU; of the host without kernels */
	int count;
	cudaEvent_t marks[PLX_GPU_MARKS];
	bool marked[PLX_GPU_MARKS];
	struct plx_cuda_host *host; /* without kernels */
	struct plx_error note;	    /* why there are none */
};

/* ---- life ---- */

static int load_kernels(struct plx_gpu *g, struct plx_error *err)
{
	g->kernels = plx_kernels_create(source, err);
	if (!g->kernels)
		return -1;
	g->add = plx_kernels_find(g->kernels, "plx_add", err);
	g->mean = plx_kernels_find(g->kernels, "plx_mean", err);
	g->reduce = plx_kernels_find(g->kernels, "plx_norms", err);
	if (g->add && g->mean && g->reduce)
		return 0;
	plx_kernels_destroy(g->kernels);
	g->kernels = NULL;
	return -1;
}

static void *device_zeros(struct plx_gpu *g, size_t bytes,
			  struct plx_error *err)
{
	void *data = NULL;

	if (plx_cuda_check(g->cuda->alloc(&data, bytes), "cudaMalloc", err) < 0)
		return NULL;
	if (plx_cuda_check(g->cuda->fill_async(data, 0, bytes,
					       cudaStreamLegacy),
			   "cudaMemsetAsync", err) == 0)
		return data;
	(void) g->cuda->release(data);
	return NULL;
}

static int make_marks(struct plx_gpu *g, struct plx_error *err)
{
	for (int i = 0; i < PLX_GPU_MARKS; i++) {
		if (plx_cuda_check(g->cuda->event_create(&g->marks[i],
							 cudaEventDefault),
				   "cudaEventCreateWithFlags", err) < 0)
			return -1;
	}
	return 0;
}

/* The first call that needs a context makes one. */
static int begin(struct plx_gpu *g, int local_rank, struct plx_error *err)
{
	size_t count = (size_t) g->count;

	g->cuda = plx_cuda_get(err);
	if (!g->cuda || plx_cuda_choose(local_rank, NULL, err) < 0 ||
	    plx_cuda_check(g->cuda->release(NULL), "start of the GPU", err) <
		    0 ||
	    make_marks(g, err) < 0)
		return -1;
	if (load_kernels(g, &g->note) < 0) {
		g->host = plx_cuda_host_create(g->count, err);
		return g->host ? 0 : -1;
	}
	g->places = device_zeros(g, count * BLOCKS * sizeof(double), err);
	g->norms = device_zeros(g, count * sizeof(double), err);
	return g->places && g->norms ? 0 : -1;
}

struct plx_gpu *plx_gpu_create(int norms, int local_rank, struct plx_error *err)
{
	struct plx_gpu *g = calloc(1, sizeof(*g));

	if (!g) {
		plx_fail(err, "out of memory");
		return NULL;
	}
	g->count = norms;
	if (begin(g, local_rank, err) == 0)
		return g;
	plx_gpu_destroy(g);
	return NULL;
}

void plx_gpu_destroy(struct plx_gpu *g)
{
	if (!g)
		return;
	if (g->places)
		(void) g->cuda->release(g->places);
	if (g->norms)
		(void) g->cuda->release(g->norms);
	for (int i = 0; i < PLX_GPU_MARKS; i++) {
		if (g->marks[i])
			(void) g->cuda->event_destroy(g->marks[i]);
	}
	plx_kernels_destroy(g->kernels);
	plx_cuda_host_destroy(g->host);
	free(g);
}

const char *plx_gpu_note(const struct plx_gpu *g)
{
	return g->host ? g->note.text : NULL;
}

float *plx_gpu_alloc(struct plx_gpu *g, size_t n, struct plx_error *err)
{
	return device_zeros(g, n * sizeof(float), err);
}

void plx_gpu_free(struct plx_gpu *g, float *data)
{
	if (data)
		(void) g->cuda->release(data);
}

int plx_gpu_memory(struct plx_gpu *g, size_t *unused, size_t *all)
{
	return g->cuda->memory(unused, all) == cudaSuccess ? 0 : -1;
}

/* ---- work ---- */

static unsigned int blocks_for(size_t n)
{
	size_t blocks = (n + THREADS - 1) / THREADS;

	if (blocks < 1)
		return 1;
	return blocks < BLOCKS ? (unsigned int) blocks : BLOCKS;
}

int plx_gpu_add(struct plx_gpu *g, const struct plx_gpu_bucket *b, float weight,
		bool first, struct plx_error *err)
{
	unsigned long long n = b->n;
	double *places = g->places + (size_t) b->norm * BLOCKS;
	int is_first = first;
	float *sum = b->sum;
	float *gradient = b->gradient;
	const float *precondition = b->precondition;
	void *arguments[] = {
		&sum, &gradient, &precondition, &n, &weight, &is_first, &places,
	};

	if (g->host)
		return plx_cuda_host_add(g->host, b, weight, first, err);
	return plx_kernels_launch(g->kernels, g->add, blocks_for(b->n), THREADS,
				  arguments, err);
}

int plx_gpu_mean(struct plx_gpu *g, const struct plx_gpu_bucket *b,
		 float factor, struct plx_error *err)
{
	unsigned long long n = b->n;
	double *places = g->places + (size_t) b->norm * BLOCKS;
	float *gradient = b->gradient;
	float *sum = b->sum;
	float *previous = b->previous;
	const float *precondition = b->precondition;
	void *arguments[] = {
		&gradient, &sum, &previous, &precondition, &n, &factor, &places,
	};

	if (g->host)
		return plx_cuda_host_mean(g->host, b, factor, err);
	return plx_kernels_launch(g->kernels, g->mean, blocks_for(b->n),
				  THREADS, arguments, err);
}

int plx_gpu_norms(struct plx_gpu *g, double *norms, struct plx_error *err)
{
	size_t bytes = (size_t) g->count * sizeof(*norms);
	double *places = g->places;
	double *out = g->norms;
	int count = g->count;
	void *arguments[] = { &places, &out, &count };

	if (g->host) {
		plx_cuda_host_norms(g->host, norms);
		return 0;
	}
	if (plx_kernels_launch(g->kernels, g->reduce, 1, THREADS, arguments,
			       err) < 0)
		return -1;
	/* Waits for all before it, and tells of what went wrong there. */
	return plx_cuda_check(g->cuda->copy(norms, g->norms, bytes,
					    cudaMemcpyDeviceToHost),
			      "work on the GPU", err);
}

/* ---- time ---- */

int plx_gpu_mark(struct plx_gpu *g, enum plx_gpu_mark mark,
		 struct plx_error *err)
{
	g->marked[mark] = false;
	if (plx_cuda_check(g->cuda->event_record(g->marks[mark],
						 cudaStreamLegacy),
			   "cudaEventRecord", err) < 0)
		return -1;
	g->marked[mark] = true;
	return 0;
}

double plx_gpu_between(struct plx_gpu *g)
{
	bool both = g->marked[PLX_GPU_BEGIN] && g->marked[PLX_GPU_END];
	float ms = 0;

	/* What went wrong on the GPU is told by whoever reads from it next. */
	if (!both ||
	    g->cuda->event_wait(g->marks[PLX_GPU_END]) != cudaSuccess ||
	    g->cuda->event_elapsed(&ms, g->marks[PLX_GPU_BEGIN],
				   g->marks[PLX_GPU_END]) != cudaSuccess)
		return -1;
	return 1e-3 * (double) ms;
}
