/* SPDX-License-Identifier: MIT */
/* device.c - memory of the host and of a GPU, read and written alike */
#include <config.h>

#include <string.h>

#include "agent/device.h"

#ifdef HAVE_CUDA
#include "agent/cuda_calls.h"
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

void plx_device_belongs(const void *data, enum pollux_memory memory)
{
	if (memory == POLLUX_CUDA && data)
		plx_cuda_belongs(data);
}
