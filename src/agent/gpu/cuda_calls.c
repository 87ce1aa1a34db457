/* SPDX-License-Identifier: MIT */
/* cuda_calls.c - the CUDA runtime, opened when it is first needed */
#include <config.h>

#include <dlfcn.h>
#include <link.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "agent/gpu/cuda_calls.h"

/* What a process has once; written under the mutex, then constant. */
static struct {
	pthread_mutex_t mutex;
	struct plx_cuda calls;
	struct plx_error why; /* there is none */
	bool tried;
	bool usable;
} runtime = { .mutex = PTHREAD_MUTEX_INITIALIZER };

/* The GPU that plx_cuda_choose() was shown or has found; -1: none yet. */
static int chosen = -1; /* under runtime.mutex */

static const char *const driver_names[] = { "libcuda.so.1", NULL };
static const char *const runtime_names[] = {
	"libcudart.so.13",
	"libcudart.so.12",
	"libcudart.so.11.0",
	"libcudart.so",
	NULL,
};

/* Looking for a library among those that the process has. */
struct search {
	const char *stem; /* "libcudart": its name up to the first '.' or '-' */
	size_t length;
	void *library;
};

static int is_it(struct dl_phdr_info *info, size_t size, void *arg)
{
	struct search *s = arg;
	const char *slash = strrchr(info->dlpi_name, '/');
	const char *name = slash ? slash + 1 : info->dlpi_name;

	(void) size;
	if (strncmp(name, s->stem, s->length) != 0 ||
	    (name[s->length] != '.' && name[s->length] != '-'))
		return 0;
	s->library =
		dlopen(info->dlpi_name, RTLD_NOW | RTLD_LOCAL | RTLD_NOLOAD);
	return s->library != NULL;
}

/*
 * What the program, or its PyTorch, has loaded: a second runtime beside it,
 * maybe of another version, would have devices and errors of its own. Its
 * name may have a hash in it ("libcudart-d0da41ae.so.11.0").
 */
static void *find_loaded(const char *const *names)
{
	struct search s = { .stem = names[0],
			    .length = strcspn(names[0], ".") };

	(void) dl_iterate_phdr(is_it, &s);
	return s.library;
}

void *plx_cuda_open(const char *const *names, struct plx_error *err)
{
	void *library = find_loaded(names);

	for (int i = 0; names[i] && !library; i++)
		library = dlopen(names[i], RTLD_NOW | RTLD_LOCAL);
	if (!library)
		plx_fail(err, "cannot open %s: %s", names[0], dlerror());
	return library;
}

int plx_cuda_find(void *library, const struct plx_symbol *symbols, size_t count,
		  struct plx_error *err)
{
	for (size_t i = 0; i < count; i++) {
		void *symbol = dlsym(library, symbols[i].name);

		if (!symbol)
			return plx_fail(err, "no %s in the GPU libraries",
					symbols[i].name);
		/* POSIX allows it, ISO C has no cast for it. */
		*(void **) symbols[i].slot = symbol;
	}
	return 0;
}

static int load(struct plx_cuda *c, struct plx_error *err)
{
	const struct plx_symbol symbols[] = {
		{ "cudaGetDeviceCount", &c->device_count },
		{ "cudaGetDevice", &c->get_device },
		{ "cudaSetDevice", &c->set_device },
		{ "cudaDeviceGetAttribute", &c->attribute },
		{ "cudaMalloc", &c->alloc },
		{ "cudaFree", &c->release },
		{ "cudaMemGetInfo", &c->memory },
		{ "cudaHostAlloc", &c->host_alloc },
		{ "cudaFreeHost", &c->host_release },
		{ "cudaMemcpy", &c->copy },
		{ "cudaMemcpyAsync", &c->copy_async },
		{ "cudaMemsetAsync", &c->fill_async },
		{ "cudaPointerGetAttributes", &c->whose },
		{ "cudaStreamCreateWithFlags", &c->stream_create },
		{ "cudaStreamDestroy", &c->stream_destroy },
		{ "cudaStreamSynchronize", &c->stream_wait },
		{ "cudaStreamWaitEvent", &c->stream_after },
		{ "cudaEventCreateWithFlags", &c->event_create },
		{ "cudaEventDestroy", &c->event_destroy },
		{ "cudaEventQuery", &c->event_query },
		{ "cudaEventRecord", &c->event_record },
		{ "cudaEventSynchronize", &c->event_wait },
		{ "cudaEventElapsedTime", &c->event_elapsed },
		{ "cudaGetErrorString", &c->text },
		{ "cudaGetLastError", &c->forget },
	};
	void *library;

	/* Asked first: without it, loading the rest would cost a start 0.1 s.
	 */
	if (!plx_cuda_open(driver_names, err))
		return -1;
	library = plx_cuda_open(runtime_names, err);
	if (!library)
		return -1;
	return plx_cuda_find(library, symbols,
			     sizeof(symbols) / sizeof(symbols[0]), err);
}

const struct plx_cuda *plx_cuda_get(struct plx_error *err)
{
	bool usable;

	pthread_mutex_lock(&runtime.mutex);
	if (!runtime.tried)
		runtime.usable = load(&runtime.calls, &runtime.why) == 0;
	runtime.tried = true;
	usable = runtime.usable;
	pthread_mutex_unlock(&runtime.mutex);
	if (usable)
		return &runtime.calls;
	plx_fail(err, "%s", runtime.why.text);
	return NULL;
}

int plx_cuda_check(cudaError_t code, const char *what, struct plx_error *err)
{
	if (code == cudaSuccess)
		return 0;
	/* Called only where the runtime is loaded: it gave the code. */
	return plx_fail(err, "%s failed: %s", what, runtime.calls.text(code));
}

/* The GPU that holds either of the two; -1 with err set when none does. */
static int device_of(const struct plx_cuda *c, const void *a, const void *b,
		     struct plx_error *err)
{
	const void *either[] = { a, b };

	for (int i = 0; i < 2; i++) {
		/* A later runtime may know more attributes than our header. */
		union {
			struct cudaPointerAttributes known;
			char bytes[512];
		} about = { .bytes = "" };

		/* CUDA before 11 has an error for memory it does not know. */
		if (c->whose(&about.known, either[i]) != cudaSuccess)
			(void) c->forget();
		else if (about.known.type == cudaMemoryTypeDevice ||
			 about.known.type == cudaMemoryTypeManaged)
			return about.known.device;
	}
	return plx_fail(err, "memory said to be a GPU's is not");
}

void plx_cuda_belongs(const void *data)
{
	const struct plx_cuda *c = plx_cuda_get(NULL);
	int device = c ? device_of(c, data, data, NULL) : -1;

	if (device < 0)
		return;
	pthread_mutex_lock(&runtime.mutex);
	chosen = device;
	pthread_mutex_unlock(&runtime.mutex);
}

/* A number, as a launcher tells it; -1 without one. */
static int told_rank(void)
{
	const char *text = getenv("LOCAL_RANK");
	char *end = NULL;
	long rank = text && *text ? strtol(text, &end, 10) : -1;

	return rank >= 0 && rank < 4096 && !*end ? (int) rank : -1;
}

/* Of the visible ones; the current one unless that is just the first. */
static int guess(int current, int count, int local_rank)
{
	int told = told_rank();

	if (current > 0)
		return current;
	return (told >= 0 ? told : local_rank) % count;
}

int plx_cuda_choose(int local_rank, int *device, struct plx_error *err)
{
	const struct plx_cuda *c = plx_cuda_get(err);
	int current = 0;
	int count = 0;
	int choice;

	if (!c || plx_cuda_check(c->device_count(&count), "cudaGetDeviceCount",
				 err) < 0)
		return -1;
	if (count < 1)
		return plx_fail(err, "there is no GPU");
	if (plx_cuda_check(c->get_device(&current), "cudaGetDevice", err) < 0)
		return -1;
	pthread_mutex_lock(&runtime.mutex);
	if (chosen < 0)
		chosen = guess(current, count, local_rank);
	choice = chosen;
	pthread_mutex_unlock(&runtime.mutex);
	if (device)
		*device = choice;
	return plx_cuda_check(c->set_device(choice), "cudaSetDevice", err);
}

int plx_cuda_device(const void *data, struct plx_error *err)
{
	const struct plx_cuda *c = plx_cuda_get(err);

	return c ? device_of(c, data, data, err) : -1;
}

/* To ask whose memory it is takes memory of the current GPU: of GPU 0. */
void plx_cuda_adopt(const void *data)
{
	int device;

	pthread_mutex_lock(&runtime.mutex);
	device = chosen;
	pthread_mutex_unlock(&runtime.mutex);
	if (device < 0 && data)
		device = plx_cuda_device(data, NULL);
	if (device >= 0)
		(void) runtime.calls.set_device(device);
}

int plx_cuda_enter(int device, int *before, struct plx_error *err)
{
	const struct plx_cuda *c = plx_cuda_get(err);

	if (!c || device < 0 ||
	    plx_cuda_check(c->get_device(before), "cudaGetDevice", err) < 0)
		return -1;
	if (*before != device &&
	    plx_cuda_check(c->set_device(device), "cudaSetDevice", err) < 0)
		return -1;
	return device;
}

int plx_cuda_leave(int device, int before, struct plx_error *err)
{
	if (before == device)
		return 0;
	return plx_cuda_check(runtime.calls.set_device(before), "cudaSetDevice",
			      err);
}

int plx_cuda_copy(void *to, const void *from, size_t bytes,
		  struct plx_error *err)
{
	const struct plx_cuda *c = plx_cuda_get(err);
	int before = 0;
	int device;
	int rc;

	if (!c)
		return -1;
	if (!bytes)
		return 0;
	device = plx_cuda_enter(device_of(c, to, from, err), &before, err);
	if (device < 0)
		return -1;
	rc = plx_cuda_check(c->copy(to, from, bytes, cudaMemcpyDefault),
			    PLX_CUDA_COPY, err);
	if (plx_cuda_leave(device, before, rc < 0 ? NULL : err) < 0)
		rc = -1;
	return rc;
}
