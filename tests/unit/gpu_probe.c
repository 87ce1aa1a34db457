/* SPDX-License-Identifier: MIT */
/*
 * gpu_probe.c - what only a GPU can tell, a question at a time
 *
 *	gpu_probe device WANT [GPU]  the GPU that a rank uses is WANT; with GPU,
 *				     the program's memory is on that one
 *	gpu_probe times [N]	     a pass's time by libpollux and by the GPU,
 *				     of N kernels over 64 MB each
 *	gpu_probe copies [MB]	     rates between host and GPU, GB/s
 *	gpu_probe image [MB]	     memory of the GPU to an image and back, by
 *				     one thread and by as many as processors;
 *				     GPU_PROBE_ON: the GPU's number
 *	gpu_probe hog FREE_MB	     hold all memory of the GPU but so much,
 *				     until stdin ends
 *
 * Prints a line of JSON. Exit code 0: all right; 1 with a sentence.
 */
#include <config.h>

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "agent/gpu/cuda_calls.h"
#include "agent/memory/memory_image.h"
#include "agent/state/agent.h"
#include "wire/now.h"

#define MB ((size_t) 1 << 20)

static struct plx_error err;
static const struct plx_cuda *cuda;

static int sentence(const char *text)
{
	return plx_fail(&err, "%s", text);
}

static int good(cudaError_t code, const char *what)
{
	return plx_cuda_check(code, what, &err);
}

static void *gpu_memory(size_t bytes)
{
	void *data = NULL;

	return good(cuda->alloc(&data, bytes), "cudaMalloc") < 0 ? NULL : data;
}

/* ---- device ---- */

static int device(const char *want, const char *where)
{
	struct plx_gpu *gpu;
	int current = -1;

	if (where) {
		if (good(cuda->set_device(atoi(where)), "cudaSetDevice") < 0)
			return -1;
		plx_cuda_belongs(gpu_memory(MB));
		if (good(cuda->set_device(0), "cudaSetDevice") < 0)
			return -1;
	}
	gpu = plx_gpu_create(1, 0, &err);
	if (!gpu || good(cuda->get_device(&current), "cudaGetDevice") < 0)
		return -1;
	plx_gpu_destroy(gpu);
	printf("{\"device\":%d}\n", current);
	return current == atoi(want) ? 0 : sentence("it is another GPU");
}

/* ---- times ---- */

enum { PASSES = 8, BUCKET = 1 << 16, WORK = 16 << 20 /* floats */ };

/* The GPU works for a while, the host does not. */
struct work {
	struct plx_gpu *gpu;
	struct plx_gpu_bucket on;
	int kernels;
	cudaEvent_t begin;
	cudaEvent_t end;
};

static int open_work(struct work *w, int kernels)
{
	*w = (struct work){ .kernels = kernels };
	w->gpu = plx_gpu_create(1, 0, &err);
	if (!w->gpu)
		return -1;
	/* What stands in for a GPU is no fast one. */
	w->on.n = getenv("FAKE_KERNEL_US") ? 256 : WORK;
	w->on.gradient = plx_gpu_alloc(w->gpu, w->on.n, &err);
	w->on.sum = plx_gpu_alloc(w->gpu, w->on.n, &err);
	if (!w->on.gradient || !w->on.sum ||
	    good(cuda->event_create(&w->begin, cudaEventDefault), "event") < 0)
		return -1;
	return good(cuda->event_create(&w->end, cudaEventDefault), "event");
}

static int put_work(struct work *w)
{
	if (good(cuda->event_record(w->begin, cudaStreamLegacy), "event") < 0)
		return -1;
	for (int i = 0; i < w->kernels; i++) {
		if (plx_gpu_add(w->gpu, &w->on, 1, i == 0, &err) < 0)
			return -1;
	}
	return good(cuda->event_record(w->end, cudaStreamLegacy), "event");
}

struct times {
	double gpu_s;	 /* by our own events */
	double pollux_s; /* as libpollux has it */
	double launch_s; /* until the host was done */
};

static int pass(struct pollux *p, struct work *w, float *gradient,
		struct times *t)
{
	struct pollux_pass given;
	double begin_s;
	float ms = 0;

	if (pollux_next(p, &given) <= 0)
		return sentence(pollux_error(p));
	begin_s = plx_now_s();
	if (put_work(w) < 0)
		return -1;
	if (pollux_gradient(p, 0, gradient) < 0)
		return sentence(pollux_error(p));
	t->launch_s = plx_now_s() - begin_s;
	if (pollux_sync(p, 1) < 0)
		return sentence(pollux_error(p));
	if (good(cuda->event_wait(w->end), "event") < 0 ||
	    good(cuda->event_elapsed(&ms, w->begin, w->end), "event") < 0)
		return -1;
	t->gpu_s = 1e-3 * (double) ms;
	t->pollux_s = p->meter.pass_s;
	return pollux_commit(p) < 0 ? sentence(pollux_error(p)) : 0;
}

static struct pollux *open_pollux(void)
{
	const struct pollux_bucket bucket = { .count = BUCKET,
					      .memory = POLLUX_CUDA };
	struct pollux_config config;
	struct pollux *p;

	pollux_config_init(&config);
	config.samples = 1u << 20;
	config.batch = 32;
	config.lr = 0.1;
	config.collectives = "self";
	config.quiet = true;
	p = pollux_create(&config);
	if (p && pollux_bucket(p, &bucket) == 0 && pollux_start(p) == 0)
		return p;
	sentence(p ? pollux_error(p) : "out of memory");
	return NULL;
}

/* The library's own sum of the gradient is part of its time, and small. */
static bool alike(const struct times *t)
{
	return fabs(t->pollux_s - t->gpu_s) <= 0.1 * t->gpu_s + 1e-3;
}

static int times(int kernels)
{
	struct pollux *p = open_pollux();
	struct times t = { 0 };
	struct work work;
	float *gradient;

	if (!p || open_work(&work, kernels) < 0)
		return -1;
	gradient = plx_gpu_alloc(work.gpu, BUCKET, &err);
	if (!gradient)
		return -1;
	for (int i = 0; i < PASSES; i++) {
		if (pass(p, &work, gradient, &t) < 0)
			return -1;
	}
	printf("{\"gpu_ms\":%.3f,\"pollux_ms\":%.3f,\"launch_ms\":%.3f}\n",
	       1e3 * t.gpu_s, 1e3 * t.pollux_s, 1e3 * t.launch_s);
	plx_gpu_free(work.gpu, gradient);
	plx_gpu_free(work.gpu, work.on.gradient);
	plx_gpu_free(work.gpu, work.on.sum);
	plx_gpu_destroy(work.gpu);
	pollux_destroy(p);
	if (2 * t.launch_s > t.gpu_s)
		return sentence("the host was not faster than the GPU");
	return alike(&t) ? 0 : sentence("libpollux has another time");
}

/* ---- copies ---- */

enum { TURNS = 5 };

/* Of the fastest turn, GB/s; -1: it failed. */
static double rate(void *to, const void *from, size_t bytes)
{
	double best_s = INFINITY;

	for (int i = 0; i < TURNS; i++) {
		double begin_s = plx_now_s();

		if (plx_cuda_copy(to, from, bytes, &err) < 0)
			return -1;
		best_s = fmin(best_s, plx_now_s() - begin_s);
	}
	return 1e-9 * (double) bytes / best_s;
}

static int copies(size_t bytes)
{
	void *gpu = gpu_memory(bytes);
	void *pageable = malloc(bytes);
	void *fixed = NULL;
	void *host[2];

	if (!gpu || !pageable ||
	    good(cuda->host_alloc(&fixed, bytes, cudaHostAllocDefault),
		 "cudaHostAlloc") < 0)
		return -1;
	host[0] = fixed;
	host[1] = pageable;
	memset(fixed, 1, bytes);
	memset(pageable, 1, bytes);
	printf("{\"bytes\":%zu", bytes);
	for (int i = 0; i < 2; i++) {
		const char *name = i ? "pageable" : "pinned";
		double up = rate(gpu, host[i], bytes);
		double down = rate(host[i], gpu, bytes);

		if (up < 0 || down < 0)
			return -1;
		printf(",\"%s_to_gpu_gbps\":%.2f,\"%s_from_gpu_gbps\":%.2f",
		       name, up, name, down);
	}
	printf("}\n");
	(void) cuda->host_release(fixed);
	(void) cuda->release(gpu);
	free(pageable);
	return 0;
}

/* ---- image ---- */

/* As an old generation has it, and as the next one gets it. */
struct handed {
	struct plx_image_part old[2];
	struct plx_image_part next[2];
	struct plx_parts parts;
	char *host;
	char *image;
	size_t bytes; /* of both parts */
};

static int open_handed(struct handed *h, size_t bytes)
{
	const char *where = getenv("GPU_PROBE_ON");

	*h = (struct handed){ .bytes = bytes };
	if (where && good(cuda->set_device(atoi(where)), "cudaSetDevice") < 0)
		return -1;
	h->host = malloc(bytes);
	for (size_t i = 0; h->host && i < bytes; i++)
		h->host[i] = (char) (i * 2654435761u >> 13);
	for (int i = 0; i < 2; i++) {
		size_t size = i ? bytes - 1001 : 1001;

		h->old[i] = (struct plx_image_part){ .bytes = size,
						     .memory = POLLUX_CUDA };
		h->next[i] = h->old[i];
		h->old[i].data = gpu_memory(size);
		h->next[i].data = gpu_memory(size);
		if (!h->host || !h->old[i].data || !h->next[i].data ||
		    plx_cuda_copy(h->old[i].data, h->host + (i ? 1001 : 0),
				  size, &err) < 0)
			return -1;
	}
	plx_cuda_belongs(h->old[0].data); /* as pollux_start() says */
	/* As a thread has it that has called nothing yet. */
	if (good(cuda->set_device(0), "cudaSetDevice") < 0)
		return -1;
	h->parts = (struct plx_parts){ .count = 2, .arrays = 2 };
	h->parts.list = h->old;
	h->image = malloc(plx_memory_image_size(&h->parts));
	return h->image ? 0 : sentence("out of memory");
}

/* Seconds of each way; the GPU has what was handed over, or it failed. */
static int hand(struct handed *h, int threads, double *give_s, double *take_s)
{
	const struct plx_memory_image_facts facts = { .job = "probe" };
	const struct plx_slice all = { 0, 1 };
	double begin_s;

	h->parts.threads = threads;
	h->parts.list = h->old;
	memset(h->image, 0, plx_memory_image_size(&h->parts));
	plx_memory_image_lay(h->image, &h->parts, &facts);
	begin_s = plx_now_s();
	if (plx_memory_image_write(h->image, &h->parts, all, &err) < 0)
		return -1;
	*give_s = plx_now_s() - begin_s;
	plx_memory_image_commit(h->image);
	h->parts.list = h->next;
	begin_s = plx_now_s();
	if (plx_memory_image_take(h->image, &h->parts, all, &err) < 0)
		return -1;
	*take_s = plx_now_s() - begin_s;
	return 0;
}

static int is_handed(struct handed *h)
{
	char *back = malloc(h->bytes);
	int rc = back ? 0 : sentence("out of memory");

	if (rc == 0 && (plx_cuda_copy(back, h->next[0].data, 1001, &err) < 0 ||
			plx_cuda_copy(back + 1001, h->next[1].data,
				      h->bytes - 1001, &err) < 0))
		rc = -1;
	if (rc == 0 && memcmp(back, h->host, h->bytes) != 0)
		rc = sentence("the GPU has other bytes than were handed over");
	free(back);
	return rc;
}

/* It is refused, wherever it is. */
static int damaged(struct handed *h)
{
	size_t bytes;
	const char *part = plx_memory_image_part(h->image, 1, &bytes);

	h->image[part - h->image + bytes / 2] ^= 1;
	if (plx_memory_image_take(h->image, &h->parts,
				  (struct plx_slice){ 0, 1 }, &err) == 0)
		return sentence("damage is not seen");
	return strstr(err.text, "checksum") ? 0 : -1;
}

static int image(size_t bytes)
{
	static const int threads[] = { 1, 8, 0 };
	struct handed h;
	uint32_t crc = 0;

	if (open_handed(&h, bytes) < 0)
		return -1;
	printf("{\"bytes\":%zu", bytes);
	for (int i = 0; i < 3; i++) {
		double give_s;
		double take_s;

		if (hand(&h, threads[i], &give_s, &take_s) < 0 ||
		    is_handed(&h) < 0)
			return -1;
		if (i && plx_memory_image_crc(h.image) != crc)
			return sentence("threads make another checksum");
		crc = plx_memory_image_crc(h.image);
		printf(",\"threads_%d\":{\"give_gbps\":%.2f,"
		       "\"take_gbps\":%.2f}",
		       threads[i], 1e-9 * (double) bytes / give_s,
		       1e-9 * (double) bytes / take_s);
	}
	printf("}\n");
	return damaged(&h);
}

/* ---- hog ---- */

/* Smaller and smaller pieces, until less than that is left. */
static int hog(size_t left)
{
	size_t piece = 1024 * MB;
	size_t held = 0;
	size_t all;
	size_t unused;
	char byte;

	if (good(cuda->memory(&unused, &all), "cudaMemGetInfo") < 0)
		return -1;
	while (piece >= MB) {
		void *data = NULL;

		if (unused > left && unused - left >= piece &&
		    cuda->alloc(&data, piece) == cudaSuccess) {
			held += piece;
		} else {
			(void) cuda->forget();
			piece /= 2;
		}
		if (good(cuda->memory(&unused, &all), "cudaMemGetInfo") < 0)
			return -1;
	}
	printf("{\"held_mb\":%zu,\"free_mb\":%zu}\n", held / MB, unused / MB);
	fflush(stdout);
	while (read(STDIN_FILENO, &byte, 1) > 0)
		;
	return 0;
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "";
	const char *number = argc > 2 ? argv[2] : NULL;
	int rc = -1;

	snprintf(err.text, sizeof(err.text), "usage: see gpu_probe.c");
	cuda = plx_cuda_get(&err);
	if (cuda && !strcmp(what, "device") && number)
		rc = device(number, argc > 3 ? argv[3] : NULL);
	else if (cuda && !strcmp(what, "times"))
		rc = times(number ? atoi(number) : 100);
	else if (cuda && !strcmp(what, "copies"))
		rc = copies((size_t) (number ? atoi(number) : 256) * MB);
	else if (cuda && !strcmp(what, "image"))
		rc = image((size_t) (number ? atoi(number) : 256) * MB);
	else if (cuda && !strcmp(what, "hog") && number)
		rc = hog((size_t) atoi(number) * MB);
	if (rc < 0)
		printf("%s\n", err.text);
	return rc < 0;
}
