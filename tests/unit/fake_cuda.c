/* SPDX-License-Identifier: MIT */
/*
 * fake_cuda.c - memory, streams and events of a GPU that is not there
 *
 * FAKE_GPUS=N          devices (1)
 * FAKE_KERNEL_US=N     how long each kernel takes, by the GPU's clock (0)
 * FAKE_GPU_MB=N        memory of a GPU (4096)
 * FAKE_GPU_USES=FILE   who uses how much of it, so that processes share it as
 *                      they do a real one's; without, each has all of it
 * FAKE_PINNED=none     no pinned memory is to be had
 * FAKE_COPIES=N        copies on a stream fail after so many
 */
#define _GNU_SOURCE /* of recursive mutexes */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "fake_cuda.h"

#define EXPORT __attribute__((visibility("default")))

struct item {
	fake_work *work;
	struct item *next;
	double queued_s;
	double takes_s;
	_Alignas(16) char what[];
};

struct CUstream_st {
	struct item *first;
	struct item *last;
	struct CUstream_st *next;
	double clock_s; /* when the last item ended */
};

struct CUevent_st {
	uint64_t recorded; /* times it was put on a stream */
	uint64_t reached;  /* times a stream has come to it */
	double at_s;	   /* when it last did */
	bool timing;
};

struct block {
	char *at; /* NULL: free */
	size_t bytes;
	int device;
};

/* The legacy default stream is the last one to move. */
static struct CUstream_st legacy;
static struct CUstream_st *streams = &legacy;
static struct block blocks[256];
static pthread_mutex_t mutex = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;
static _Thread_local int device;   /* a thread begins on the first one */
static _Thread_local bool is_set;  /* by the thread */
static struct CUstream_st *moving; /* whose item is being done */

static double now_s(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double) t.tv_sec + 1e-9 * (double) t.tv_nsec;
}

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

static void enqueue(cudaStream_t stream, fake_work *work, void *what,
		    size_t bytes, double takes_s)
{
	struct CUstream_st *s = stream_of(stream);
	struct item *item = calloc(1, sizeof(*item) + bytes);

	item->work = work;
	item->queued_s = now_s();
	item->takes_s = takes_s;
	memcpy(item->what, what, bytes);
	pthread_mutex_lock(&mutex);
	if (s->last)
		s->last->next = item;
	else
		s->first = item;
	s->last = item;
	pthread_mutex_unlock(&mutex);
}

void fake_enqueue(cudaStream_t stream, fake_work *work, void *what,
		  size_t bytes)
{
	enqueue(stream, work, what, bytes, 0);
}

void fake_enqueue_kernel(cudaStream_t stream, fake_work *work, void *what,
			 size_t bytes)
{
	const char *us = getenv("FAKE_KERNEL_US");

	enqueue(stream, work, what, bytes, us ? 1e-6 * atof(us) : 0);
}

void fake_check_device(const void *data)
{
	const struct block *b = block_of(data);

	if (b && b->device != device)
		fake_die("work on one GPU with memory of another");
}

void fake_drop(cudaStream_t stream, fake_work *work)
{
	struct CUstream_st *s = stream_of(stream);
	struct item **at = &s->first;

	pthread_mutex_lock(&mutex);
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
	pthread_mutex_unlock(&mutex);
}

/* Done by now, and when: a stream's work goes on while nobody looks. */
static bool is_done(struct CUstream_st *s, struct item *item)
{
	double begin_s =
		item->queued_s > s->clock_s ? item->queued_s : s->clock_s;
	double end_s = begin_s + item->takes_s;
	double before_s = s->clock_s;

	if (end_s > now_s())
		return false;
	s->clock_s = end_s;
	moving = s;
	if (item->work(item->what))
		return true;
	s->clock_s = before_s;
	item->queued_s = now_s(); /* it waits for others */
	return false;
}

/* True when something was done. */
static bool move(struct CUstream_st *s)
{
	bool moved = false;

	while (s->first && is_done(s, s->first)) {
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

	pthread_mutex_lock(&mutex);
	fake_open_memory();
	do {
		moved = false;
		for (struct CUstream_st *s = streams; s; s = s->next)
			moved = move(s) || moved;
	} while (moved);
	fake_close_memory();
	pthread_mutex_unlock(&mutex);
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
	pthread_mutex_lock(&mutex);
	(*stream)->next = streams;
	streams = *stream;
	pthread_mutex_unlock(&mutex);
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
	w->event->at_s = moving->clock_s;
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
	*event = calloc(1, sizeof(**event));
	(*event)->timing = !(flags & cudaEventDisableTiming);
	return cudaSuccess;
}

EXPORT cudaError_t cudaEventDestroy(cudaEvent_t event)
{
	(void) event; /* stays, for what is still to come to it */
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

EXPORT cudaError_t cudaEventSynchronize(cudaEvent_t event)
{
	while (event->reached < event->recorded)
		progress();
	return cudaSuccess;
}

#undef cudaEventElapsedTime
EXPORT cudaError_t cudaEventElapsedTime(float *ms, cudaEvent_t begin,
					cudaEvent_t end)
{
	if (!begin->timing || !end->timing || !begin->recorded)
		return cudaErrorInvalidResourceHandle;
	if (begin->reached < begin->recorded || end->reached < end->recorded)
		return cudaErrorNotReady;
	*ms = (float) (1e3 * (end->at_s - begin->at_s));
	return cudaSuccess;
}

/* ---- memory, as it is called ---- */

struct copy {
	void *to;
	const void *from; /* NULL: zeros */
	size_t bytes;
	char *was; /* what is to be copied, as it was when it was said */
};

/* What is read there too early is no number. */
static void poison(void *data, size_t bytes)
{
	memset(data, 0xff, bytes);
}

static bool is_poisoned(const void *data, size_t bytes)
{
	const unsigned char *at = data;

	for (size_t i = 0; i < bytes; i++) {
		if (at[i] != 0xff)
			return false;
	}
	return true;
}

static bool copy(void *what)
{
	struct copy *c = what;

	if (!c->from) {
		memset(c->to, 0, c->bytes);
		return true;
	}
	/* A copy back to the same place that is on the stream is no change. */
	if (c->was && memcmp(c->was, c->from, c->bytes) &&
	    !is_poisoned(c->from, c->bytes))
		fake_die("memory is changed before it was copied to the GPU");
	memcpy(c->to, c->was ? c->was : c->from, c->bytes);
	free(c->was);
	return true;
}

enum { POISONED = 1 << 24 };

static size_t memory_of_gpu(void)
{
	const char *mb = getenv("FAKE_GPU_MB");

	return (size_t) (mb ? atoi(mb) : 4096) << 20;
}

/* Of the current one. */
static size_t memory_in_use(void)
{
	size_t used = 0;

	for (int i = 0; i < 256; i++) {
		if (blocks[i].at && blocks[i].device == device)
			used += blocks[i].bytes;
	}
	return used;
}

/* What a process uses of a GPU. */
struct use {
	pid_t who;
	int device;
	size_t bytes;
};

enum { USES = 64 };

static struct {
	struct use *list; /* [USES], of all processes; NULL: not shared */
	int fd;		  /* locked while they are looked at */
} uses;

static void open_uses(void)
{
	const char *path = getenv("FAKE_GPU_USES");
	size_t bytes = USES * sizeof(*uses.list);

	if (uses.list || !path)
		return;
	uses.fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	if (uses.fd < 0 || ftruncate(uses.fd, (off_t) bytes) < 0)
		fake_die("FAKE_GPU_USES cannot be opened");
	uses.list = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED,
			 uses.fd, 0);
	if (uses.list == MAP_FAILED)
		fake_die("FAKE_GPU_USES cannot be mapped");
}

/* The mutex is held; until unlock_uses(). */
static void lock_uses(void)
{
	open_uses();
	if (uses.list)
		flock(uses.fd, LOCK_EX);
}

static void unlock_uses(void)
{
	if (uses.list)
		flock(uses.fd, LOCK_UN);
}

/* Of those on this GPU that still live. */
static size_t used_by_others(void)
{
	size_t sum = 0;

	for (int i = 0; i < USES && uses.list; i++) {
		struct use *u = &uses.list[i];

		if (u->who && kill(u->who, 0) < 0 && errno == ESRCH)
			u->who = 0;
		if (u->who && u->who != getpid() && u->device == device)
			sum += u->bytes;
	}
	return sum;
}

/* Ours, of this GPU. */
static void note_use(size_t bytes)
{
	struct use *mine = NULL;

	for (int i = 0; i < USES && uses.list; i++) {
		struct use *u = &uses.list[i];

		if (!u->who && !mine)
			mine = u;
		if (u->who == getpid() && u->device == device) {
			mine = u;
			break;
		}
	}
	if (mine)
		*mine = (struct use){ getpid(), device, bytes };
	else if (uses.list)
		fake_die("FAKE_GPU_USES is too short");
}

static size_t unused_memory(void)
{
	size_t used = memory_in_use() + used_by_others();

	return used < memory_of_gpu() ? memory_of_gpu() - used : 0;
}

EXPORT cudaError_t cudaMemGetInfo(size_t *unused, size_t *all)
{
	*all = memory_of_gpu();
	pthread_mutex_lock(&mutex);
	lock_uses();
	*unused = unused_memory();
	unlock_uses();
	pthread_mutex_unlock(&mutex);
	return cudaSuccess;
}

EXPORT cudaError_t cudaMalloc(void **data, size_t bytes)
{
	size_t room = (bytes + 4095) / 4096 * 4096;

	struct block *b = NULL;

	pthread_mutex_lock(&mutex);
	lock_uses();
	for (int i = 0; i < 256 && !b; i++) {
		if (!blocks[i].at)
			b = &blocks[i];
	}
	if (b && room > unused_memory())
		b = NULL;
	if (b) {
		b->at = mmap(NULL, room, PROT_READ | PROT_WRITE,
			     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		/* The beginning is enough, and does not cost its pages. */
		poison(b->at, room < POISONED ? room : POISONED);
		mprotect(b->at, room, PROT_NONE);
		b->bytes = room;
		b->device = device;
		*data = b->at;
		note_use(memory_in_use());
	}
	unlock_uses();
	pthread_mutex_unlock(&mutex);
	return b ? cudaSuccess : cudaErrorMemoryAllocation;
}

EXPORT cudaError_t cudaFree(void *data)
{
	struct block *b = data ? block_of(data) : NULL;
	int before = device;

	if (data && !b)
		fake_die("cudaFree of what is not from cudaMalloc");
	if (!data)
		return cudaSuccess;
	drain(NULL);
	pthread_mutex_lock(&mutex);
	munmap(b->at, b->bytes);
	b->at = NULL;
	device = b->device;
	lock_uses();
	note_use(memory_in_use());
	unlock_uses();
	device = before;
	pthread_mutex_unlock(&mutex);
	return cudaSuccess;
}

EXPORT cudaError_t cudaHostAlloc(void **data, size_t bytes, unsigned int flags)
{
	const char *fixed = getenv("FAKE_PINNED");

	(void) flags;
	if (fixed && !strcmp(fixed, "none"))
		return cudaErrorMemoryAllocation;
	*data = malloc(bytes);
	return *data ? cudaSuccess : cudaErrorMemoryAllocation;
}

EXPORT cudaError_t cudaFreeHost(void *data)
{
	drain(NULL);
	free(data);
	return cudaSuccess;
}

/* One more copy than are to be good. */
static bool copy_fails(void)
{
	static long copies;
	const char *good = getenv("FAKE_COPIES");

	return __atomic_add_fetch(&copies, 1, __ATOMIC_RELAXED) >
	       (good ? atol(good) : LONG_MAX);
}

EXPORT cudaError_t cudaMemcpyAsync(void *to, const void *from, size_t bytes,
				   enum cudaMemcpyKind kind,
				   cudaStream_t stream)
{
	struct copy c = { to, from, bytes, NULL };

	if (copy_fails())
		return cudaErrorUnknown;
	if ((kind == cudaMemcpyHostToDevice) != (block_of(to) != NULL))
		fake_die("a copy in another direction than said");
	fake_check_device(kind == cudaMemcpyHostToDevice ? to : from);
	if (kind == cudaMemcpyHostToDevice) {
		c.was = malloc(bytes);
		memcpy(c.was, from, bytes);
	} else {
		poison(to, bytes);
	}
	fake_enqueue(stream, copy, &c, sizeof(c));
	return cudaSuccess;
}

EXPORT cudaError_t cudaMemcpy(void *to, const void *from, size_t bytes,
			      enum cudaMemcpyKind kind)
{
	(void) kind;
	drain(&legacy);
	pthread_mutex_lock(&mutex);
	fake_open_memory();
	memcpy(to, from, bytes);
	fake_close_memory();
	pthread_mutex_unlock(&mutex);
	return cudaSuccess;
}

EXPORT cudaError_t cudaMemsetAsync(void *data, int value, size_t bytes,
				   cudaStream_t stream)
{
	struct copy c = { data, NULL, bytes, NULL };

	fake_check_device(data);
	if (value || !block_of(data))
		fake_die("cudaMemsetAsync of something else");
	fake_enqueue(stream, copy, &c, sizeof(c));
	return cudaSuccess;
}

EXPORT cudaError_t cudaPointerGetAttributes(struct cudaPointerAttributes *about,
					    const void *data)
{
	const struct block *b = block_of(data);

	/* A real one takes some hundred megabytes of the current GPU. */
	if (b && b->device != device && !is_set && gettid() != getpid())
		fake_die("a thread that has chosen no GPU would use the first");
	about->type = b ? cudaMemoryTypeDevice : cudaMemoryTypeUnregistered;
	about->device = b ? b->device : -2;
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
	is_set = true;
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
	if (code == cudaErrorMemoryAllocation)
		return "out of memory";
	return code == cudaErrorNoDevice ? "no CUDA-capable device is detected"
					 : "an error of the fake";
}

EXPORT cudaError_t cudaGetLastError(void)
{
	return cudaSuccess;
}
