/* SPDX-License-Identifier: MIT */
/* registered.c - the state that the program has registered */
#include <config.h>

#include <stdlib.h>

#include "agent/gpu/device.h"
#include "agent/state/registered.h"

size_t plx_registered_bytes(const struct plx_registered *r)
{
	size_t bytes = 0;

	for (int i = 0; i < r->tensor_count; i++)
		bytes += r->tensors[i].bytes;
	return bytes;
}

uint32_t plx_registered_crc(const struct plx_registered *r)
{
	uint32_t crc = 0;

	for (int i = 0; i < r->tensor_count; i++) {
		const struct plx_tensor *t = &r->tensors[i];

		(void) plx_device_crc(&crc, t->data, t->bytes, t->memory, NULL);
	}
	return crc;
}

void plx_registered_release(struct plx_registered *r)
{
	plx_names_release(&r->names);
	free(r->tensors);
	free(r->blobs);
	*r = (struct plx_registered){ 0 };
}
