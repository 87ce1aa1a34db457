/* SPDX-License-Identifier: MIT */
/* tensors.c - the registered tensors together: bytes and checksum */
#include <config.h>

#include "agent/gpu/device.h"
#include "agent/state/tensors.h"

size_t plx_tensors_bytes(const struct pollux *p)
{
	size_t bytes = 0;

	for (int i = 0; i < p->tensor_count; i++)
		bytes += p->tensors[i].bytes;
	return bytes;
}

uint32_t pollux_crc(const struct pollux *p)
{
	uint32_t crc = 0;

	for (int i = 0; p && i < p->tensor_count; i++) {
		const struct plx_tensor *t = &p->tensors[i];

		(void) plx_device_crc(&crc, t->data, t->bytes, t->memory, NULL);
	}
	return crc;
}
