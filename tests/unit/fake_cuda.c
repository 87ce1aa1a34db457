/* SPDX-License-Identifier: MIT */
/* fake_cuda.c - memory, streams and events of a GPU that is not there */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "fake_cuda.h"

#define EXPORT __attribute__((visibility("default")))

struct item {
	fake_work *work;
	struct item *next;
	char what[];
};

struct CUstream_st {
	struct item *first;
	struct item *last;
	struct CUstream_st *next;
};

struct CUevent_st {
	uint64_t recorded; /* times it was put on a stream */
	uint64_t reached;  /* times a stream has come to it */
};

struct block {
	char *at; /* NULL: free */
	size_t bytes;
};

/* The legacy default stream is the last one to move. */
static struct CUstream_st legacy;
static struct CUstream_st *streams = &legacy;
static struct block blocks[256];
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static int device;

void fake_die(const char *sentence)
{
	fprintf(stderr, "fake CUDA: %s\n", sentence);
	abort();
}

/* ---- memory ---- */

static void protect(int how)
{
	for (int i = 0; i < 256; i++) {
		if (blocks[i].at)
			mprotect(blocks[i].at, blocks[i].bytes, how);
	}
}

void fake_open_memory(void)
{
	protect(PROT_READ | PROT_WRITE);
}

void fake_close_memory(void)
{
	protect(PROT_NONE);
}

static struct block *block_of(const void *at)
{
	for (int i = 0; i < 256; i++) {
		const char *begin = blocks[i].at;

		if (begin && (const char *) at >= begin &&
		    (const char *) at < begin + blocks[i].bytes)
			return &blocks[i];
	}
	return NULL;
}

/* ---- streams ---- */

static struct CUstream_st *stream_of(cudaStream_t stream)
{
	return !stream || stream == cudaStreamLegacy ? &legacy : stream;
}

void fake_enqueue(cudaStream_t stream, fake_work *work, void *what,
		  size_t bytes)
{
	struct CUstream_st *s = stream_of(stream);
	struct item *item = calloc(1, sizeof(*item) + bytes);

	item->work = work;
	memcpy(item->what, what, bytes);
	if (s->last)
		s->last->next = item;
	else
		s->first = item;
	s->last = item;
}

void fake_drop(cudaStream_t stream, fake_work *work)
{
	struct CUstream_st *s = stream_of(stream);
	struct item **at = &s->first;

	s->last = NULL;
	while (*at) {
		struct item *item = *at;

		if (item->work == work) {
			*at = item->next;
			free(item);
			continue;
		}
		s->last = item;
		at = &item->next;
	}
}

/* True when something was done. */
static bool move(struct CUstream_st *s)
{
	bool moved = false;

	while (s->first && s->first->work(s->first->what)) {
		struct item *item = s->first;

		s->first = item->next;
		if (!s->first)
			s->last = NULL;
		free(item);
		moved = true;
	}
	return moved;
}

static void progress(void)
{
	bool moved;

	fake_open_memory();
	do {
		moved = false;
		for (struct CUstream_st *s = streams; s; s = s->next)
			moved = move(s) || moved;
	} while (moved);
	fake_close_memory();
}

/* As cudaFree() and others do: until all is done, or for ever. */
static void drain(struct CUstream_st *only)
{
	bool left = true;

	while (left) {
		progress();
		left = false;
		for (struct CUstream_st *s = streams; s; s = s->next)
			left = left || ((!only || s == only) && s->first);
	}
}

EXPORT cudaError_t cudaStreamCreateWithFlags(cudaStream_t *stream,
					     unsigned int flags)
{
	if (flags != cudaStreamNonBlocking)
		fake_die("a stream that blocks the default stream");
	*stream = calloc(1, sizeof(**stream));
	(*stream)->next = streams;
	streams = *stream;
	return cudaSuccess;
}

EXPORT cudaError_t cudaStreamDestroy(cudaStream_t stream)
{
	(void) stream; /* stays in the list, for what is left on it */
	return cudaSuccess;
}

EXPORT cudaError_t cudaStreamSynchronize(cudaStream_t stream)
{
	drain(stream_of(stream));
	return cudaSuccess;
}

/* ---- events ---- */

struct wait {
	cudaEvent_t event;
	uint64_t until;
};

static bool reach(void *what)
{
	struct wait *w = what;

	w->event->reached = w->until;
	return true;
}

static bool wait_for(void *what)
{
	struct wait *w = what;

	return w->event->reached >= w->until;
}

EXPORT cudaError_t cudaEventCreateWithFlags(cudaEvent_t *event,
					    unsigned int flags)
{
	(void) flags;
	*event = calloc(1, sizeof(**event));
	return cudaSuccess;
}

EXPORT cudaError_t cudaEventDestroy(cudaEvent_t event)
{
	free(event);
	return cudaSuccess;
}

EXPORT cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream)
{
	struct wait w = { event, ++event->recorded };

	fake_enqueue(stream, reach, &w, sizeof(w));
	return cudaSuccess;
}

EXPORT cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event,
				       unsigned int flags)
{
	struct wait w = { event, event->recorded };

	(void) flags;
	fake_enqueue(stream, wait_for, &w, sizeof(w));
	return cudaSuccess;
}

EXPORT cudaError_t cudaEventQuery(cudaEvent_t event)
{
	progress();
	return event->reached >= event->recorded ? cudaSuccess
						 : cudaErrorNotReady;
}

/* ---- memory, as it is called ---- */

struct copy {
	void *to;
	const void *from; /* NULL: zeros */
	size_t bytes;
};

static bool copy(void *what)
{
	struct copy *c = what;

	if (c->from)
		memcpy(c->to, c->from, c->bytes);
	else
		memset(c->to, 0, c->bytes);
	return true;
}

EXPORT cudaError_t cudaMalloc(void **data, size_t bytes)
{
	size_t room = (bytes + 4095) / 4096 * 4096;

	for (int i = 0; i < 256; i++) {
		if (blocks[i].at)
			continue;
		blocks[i].at = mmap(NULL, room, PROT_NONE,
				    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		blocks[i].bytes = room;
		*data = blocks[i].at;
		return cudaSuccess;
	}
	return cudaErrorMemoryAllocation;
}

EXPORT cudaError_t cudaFree(void *data)
{
	struct block *b = data ? block_of(data) : NULL;

	if (data && !b)
		fake_die("cudaFree of what is not from cudaMalloc");
	if (!data)
		return cudaSuccess;
	drain(NULL);
	munmap(b->at, b->bytes);
	b->at = NULL;
	return cudaSuccess;
}

EXPORT cudaError_t cudaHostAlloc(void **data, size_t bytes, unsigned int flags)
{
	(void) flags;
	*data = malloc(bytes);
	return *data ? cudaSuccess : cudaErrorMemoryAllocation;
}

EXPORT cudaError_t cudaFreeHost(void *data)
{
	drain(NULL);
	free(data);
	return cudaSuccess;
}

EXPORT cudaError_t cudaMemcpyAsync(void *to, const void *from, size_t bytes,
				   enum cudaMemcpyKind kind,
				   cudaStream_t stream)
{
	struct copy c = { to, from, bytes };

	if ((kind == cudaMemcpyHostToDevice) != (block_of(to) != NULL))
		fake_die("a copy in another direction than said");
	fake_enqueue(stream, copy, &c, sizeof(c));
	return cudaSuccess;
}

EXPORT cudaError_t cudaMemcpy(void *to, const void *from, size_t bytes,
			      enum cudaMemcpyKind kind)
{
	(void) kind;
	pthread_mutex_lock(&mutex);
	drain(&legacy);
	fake_open_memory();
	memcpy(to, from, bytes);
	fake_close_memory();
	pthread_mutex_unlock(&mutex);
	return cudaSuccess;
}

EXPORT cudaError_t cudaMemsetAsync(void *data, int value, size_t bytes,
				   cudaStream_t stream)
{
	struct copy c = { data, NULL, bytes };

	if (value || !block_of(data))
		fake_die("cudaMemsetAsync of something else");
	fake_enqueue(stream, copy, &c, sizeof(c));
	return cudaSuccess;
}

EXPORT cudaError_t cudaPointerGetAttributes(struct cudaPointerAttributes *about,
					    const void *data)
{
	about->type = block_of(data) ? cudaMemoryTypeDevice
				     : cudaMemoryTypeUnregistered;
	about->device = block_of(data) ? device : -2;
	return cudaSuccess;
}

/* ---- devices ---- */

EXPORT cudaError_t cudaGetDeviceCount(int *count)
{
	const char *text = getenv("FAKE_GPUS");

	*count = text ? atoi(text) : 1;
	return *count ? cudaSuccess : cudaErrorNoDevice;
}

EXPORT cudaError_t cudaGetDevice(int *number)
{
	*number = device;
	return cudaSuccess;
}

EXPORT cudaError_t cudaSetDevice(int number)
{
	device = number;
	return cudaSuccess;
}

EXPORT cudaError_t cudaDeviceGetAttribute(int *value, enum cudaDeviceAttr what,
					  int number)
{
	(void) number;
	*value = what == cudaDevAttrComputeCapabilityMajor ? 9 : 0;
	return cudaSuccess;
}

EXPORT const char *cudaGetErrorString(cudaError_t code)
{
	return code == cudaErrorNoDevice ? "no CUDA-capable device is detected"
					 : "an error of the fake";
}

EXPORT cudaError_t cudaGetLastError(void)
{
	return cudaSuccess;
}
