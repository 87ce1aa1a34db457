/* SPDX-License-Identifier: MIT */
/*
 * device.h - memory of the host and of a GPU, read and written alike
 *
 * CUDA's runtime is loaded when first needed and only then; a program that
 * registers no device memory never touches it. Thread-safe.
 */
#ifndef PLX_AGENT_DEVICE_H
#define PLX_AGENT_DEVICE_H

#include <stddef.h>
#include <stdint.h>

#include "agent/pollux.h"
#include "core/base/error.h"

/* Copy bytes from memory of that kind to the host, or back; blocks. */
int plx_device_read(void *host, const void *data, size_t bytes,
		    enum pollux_memory memory, struct plx_error *err);
int plx_device_write(void *data, const void *host, size_t bytes,
		     enum pollux_memory memory, struct plx_error *err);

/*
 * The checksum of memory of that kind, crc being that of what is before it; a
 * piece at a time.
 */
int plx_device_crc(uint32_t *crc, const void *data, size_t bytes,
		   enum pollux_memory memory, struct plx_error *err);

/*
 * The calling thread is ours, and copies memory of this rank's GPU if there is
 * one: the one with data, or NULL, where that is not known yet.
 */
void plx_device_adopt(const void *data);

/* The GPU with this memory is the one that this rank is to use. */
void plx_device_belongs(const void *data, enum pollux_memory memory);

#endif
