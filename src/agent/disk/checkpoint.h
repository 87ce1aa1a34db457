/* SPDX-License-Identifier: MIT */
/* checkpoint.h - a tensor to be saved, and names of those that are ours */
#ifndef PLX_AGENT_CHECKPOINT_H
#define PLX_AGENT_CHECKPOINT_H

#include <stddef.h>
#include <stdint.h>

#include "agent/pollux.h"

#define PLX_DIMS_MAX	8
#define PLX_NAME_SIZE	64
#define PLX_AGENT_NAME	"pollux.agent"	 /* struct plx_profile */
#define PLX_DOMAIN_NAME "pollux.domain." /* and the number of the rank */

struct plx_tensor {
	char name[PLX_NAME_SIZE];
	const char *dtype; /* "F32", "U8", ...; static */
	int dims;
	uint64_t shape[PLX_DIMS_MAX];
	void *data; /* borrowed */
	size_t bytes;
	enum pollux_memory memory; /* where data is */
};

#endif
