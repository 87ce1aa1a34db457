/* SPDX-License-Identifier: MIT */
/*
 * registered.h - the state that the program has registered
 *
 * All that is saved is here: who writes or reads it need not know the run.
 */
#ifndef PLX_AGENT_REGISTERED_H
#define PLX_AGENT_REGISTERED_H

#include <stddef.h>
#include <stdint.h>

#include "agent/disk/checkpoint.h"
#include "agent/pollux.h"
#include "agent/state/names.h"

/* A registered blob; its name is here. */
struct plx_blob {
	char name[PLX_NAME_SIZE];
	struct pollux_blob is;
};

struct plx_registered {
	struct plx_tensor *tensors;
	int tensor_count;
	struct plx_blob *blobs;
	int blob_count;
	struct plx_names names;	     /* of both */
	struct pollux_domain domain; /* there is one if its part() is set */
};

/* Of all tensors. */
size_t plx_registered_bytes(const struct plx_registered *r);

/* ... and their checksum, in the order registered: pollux_crc(). */
uint32_t plx_registered_crc(const struct plx_registered *r);

/* The arrays' memory is the program's. */
void plx_registered_release(struct plx_registered *r);

#endif
