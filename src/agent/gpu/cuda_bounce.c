/* SPDX-License-Identifier: MIT */
/* cuda_bounce.c - pinned memory on the way between a GPU and the host */
#include <config.h>

#include <stdbool.h>
#include <stdlib.h>

#include "agent/gpu/bounce.h"
#include "agent/gpu/cuda_calls.h"

struct plx_bounce {
	const struct plx_cuda *cuda;
	char *buffer;
	int device;	     /* whose stream it is */
	cudaStream_t stream; /* NULL: the buffer is plain memory */
};

/* As cudaMemcpy() would: after what the program has begun. */
static cudaError_t follow_program(struct plx_bounce *b)
{
	const struct plx_cuda *c = b->cuda;
	cudaEvent_t event;
	cudaError_t code;

	code = c->event_create(&event, cudaEventDisableTiming);
	if (code != cudaSuccess)
		return code;
	code = c->event_record(event, cudaStreamLegacy);
	if (code == cudaSuccess)
		code = c->stream_after(b->stream, event, 0);
	(void) c->event_destroy(event);
	return code;
}

static void close_pinned(struct plx_bounce *b)
{
	if (b->stream)
		(void) b->cuda->stream_destroy(b->stream);
	if (b->buffer)
		(void) b->cuda->host_release(b->buffer);
	b->stream = NULL;
	b->buffer = NULL;
}

/* On the current GPU; false: there is nothing of it. */
static bool open_pinned(struct plx_bounce *b, size_t bytes)
{
	const struct plx_cuda *c = b->cuda;
	void *buffer = NULL;
	bool is_open = c->host_alloc(&buffer, bytes, cudaHostAllocPortable) ==
			       cudaSuccess &&
		       c->stream_create(&b->stream, cudaStreamNonBlocking) ==
			       cudaSuccess &&
		       follow_program(b) == cudaSuccess;

	b->buffer = buffer;
	if (is_open)
		return true;
	close_pinned(b);
	/* It is no error of the program's, which may ask for the last one. */
	(void) c->forget();
	return false;
}

struct plx_bounce *plx_bounce_create(size_t bytes, const void *data,
				     struct plx_error *err)
{
	const struct plx_cuda *cuda = plx_cuda_get(err);
	struct plx_bounce *b;
	int before;

	if (!cuda)
		return NULL;
	b = calloc(1, sizeof(*b));
	if (!b) {
		plx_fail(err, "out of memory");
		return NULL;
	}
	b->cuda = cuda;
	b->device = plx_cuda_enter(plx_cuda_device(data, err), &before, err);
	if (b->device < 0)
		goto failed;
	if (!open_pinned(b, bytes))
		b->buffer = malloc(bytes);
	if (plx_cuda_leave(b->device, before, err) < 0)
		goto failed;
	if (b->buffer)
		return b;
	plx_fail(err, "out of memory");
failed:
	plx_bounce_destroy(b);
	return NULL;
}

void plx_bounce_destroy(struct plx_bounce *b)
{
	if (!b)
		return;
	if (b->stream)
		close_pinned(b);
	free(b->buffer);
	free(b);
}

char *plx_bounce_buffer(struct plx_bounce *b)
{
	return b->buffer;
}

/* Either way; data is on the GPU whose stream we have. */
static int copy(struct plx_bounce *b, void *data, size_t bytes, bool to_gpu,
		struct plx_error *err)
{
	const struct plx_cuda *c = b->cuda;
	cudaError_t code;
	int before;
	int rc;

	if (plx_cuda_enter(b->device, &before, err) < 0)
		return -1;
	if (to_gpu)
		code = c->copy_async(data, b->buffer, bytes,
				     cudaMemcpyHostToDevice, b->stream);
	else
		code = c->copy_async(b->buffer, data, bytes,
				     cudaMemcpyDeviceToHost, b->stream);
	if (code == cudaSuccess)
		code = c->stream_wait(b->stream);
	rc = plx_cuda_check(code, PLX_CUDA_COPY, err);
	if (plx_cuda_leave(b->device, before, rc < 0 ? NULL : err) < 0)
		rc = -1;
	return rc;
}

/* Is data on that one? */
static bool is_ours(const struct plx_bounce *b, const void *data)
{
	return b->stream && plx_cuda_device(data, NULL) == b->device;
}

int plx_bounce_fetch(struct plx_bounce *b, const void *data, size_t bytes,
		     struct plx_error *err)
{
	if (is_ours(b, data))
		return copy(b, (void *) data, bytes, false, err);
	return plx_cuda_copy(b->buffer, data, bytes, err);
}

int plx_bounce_send(struct plx_bounce *b, void *data, size_t bytes,
		    struct plx_error *err)
{
	if (is_ours(b, data))
		return copy(b, data, bytes, true, err);
	return plx_cuda_copy(data, b->buffer, bytes, err);
}
