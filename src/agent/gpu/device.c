/* SPDX-License-Identifier: MIT */
/* device.c - memory of the host and of a GPU, read and written alike */
#include <config.h>

#include <stdlib.h>
#include <string.h>

#include "agent/gpu/bounce.h"
#include "agent/gpu/device.h"
#include "core/base/crc.h"

#define PIECE ((size_t) 1 << 20)

#ifdef HAVE_CUDA
#include "agent/gpu/cuda_calls.h"
#else
static int plx_cuda_copy(void *to, const void *from, size_t bytes,
			 struct plx_error *err)
{
	(void) to;
	(void) from;
	(void) bytes;
	return plx_fail(err, "this libpollux was built without CUDA");
}

static void plx_cuda_belongs(const void *data)
{
	(void) data;
}

static void plx_cuda_adopt(const void *data)
{
	(void) data;
}

struct plx_bounce *plx_bounce_create(size_t bytes, const void *data,
				     struct plx_error *err)
{
	(void) bytes;
	(void) data;
	plx_fail(err, "this libpollux was built without CUDA");
	return NULL;
}

void plx_bounce_destroy(struct plx_bounce *b)
{
	(void) b;
}

/* There is no bounce to ask these of. */
char *plx_bounce_buffer(struct plx_bounce *b)
{
	return (char *) b;
}

int plx_bounce_fetch(struct plx_bounce *b, const void *data, size_t bytes,
		     struct plx_error *err)
{
	return plx_cuda_copy(b, data, bytes, err);
}

int plx_bounce_send(struct plx_bounce *b, void *data, size_t bytes,
		    struct plx_error *err)
{
	return plx_cuda_copy(data, b, bytes, err);
}
#endif

int plx_device_read(void *host, const void *data, size_t bytes,
		    enum pollux_memory memory, struct plx_error *err)
{
	if (memory == POLLUX_CUDA)
		return plx_cuda_copy(host, data, bytes, err);
	if (bytes)
		memcpy(host, data, bytes);
	return 0;
}

int plx_device_write(void *data, const void *host, size_t bytes,
		     enum pollux_memory memory, struct plx_error *err)
{
	if (memory == POLLUX_CUDA)
		return plx_cuda_copy(data, host, bytes, err);
	if (bytes)
		memcpy(data, host, bytes);
	return 0;
}

/* Memory of a GPU goes through the host, a piece at a time. */
static int crc_of_gpu(uint32_t *crc, const char *data, size_t bytes,
		      struct plx_error *err)
{
	char *host = malloc(PIECE);
	int rc = 0;

	if (!host)
		return plx_fail(err, "out of memory");
	for (size_t at = 0; rc == 0 && at < bytes; at += PIECE) {
		size_t size = bytes - at < PIECE ? bytes - at : PIECE;

		rc = plx_cuda_copy(host, data + at, size, err);
		if (rc == 0)
			*crc = plx_crc32c(*crc, host, size);
	}
	free(host);
	return rc;
}

int plx_device_crc(uint32_t *crc, const void *data, size_t bytes,
		   enum pollux_memory memory, struct plx_error *err)
{
	if (memory == POLLUX_CUDA)
		return crc_of_gpu(crc, data, bytes, err);
	*crc = plx_crc32c(*crc, data, bytes);
	return 0;
}

void plx_device_adopt(const void *data)
{
	plx_cuda_adopt(data);
}

void plx_device_belongs(const void *data, enum pollux_memory memory)
{
	if (memory == POLLUX_CUDA && data)
		plx_cuda_belongs(data);
}
