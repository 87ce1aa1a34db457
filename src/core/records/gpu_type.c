/* SPDX-License-Identifier: MIT */
/* gpu_type.c - the names of types of GPUs, as a text on a job's record */

#include <string.h>

#include "core/base/crc.h"
#include "core/records/gpu_type.h"

/* Not isalnum(): what it takes depends on the locale. */
static const char allowed[] = "abcdefghijklmnopqrstuvwxyz"
			      "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
			      "0123456789" PLX_TYPE_MARKS ",";

bool plx_types_valid(const char types[PLX_TYPES_SIZE])
{
	const char *end = memchr(types, '\0', PLX_TYPES_SIZE);

	return end && end > types &&
	       strspn(types, allowed) == (size_t) (end - types);
}

uint32_t plx_types_digest(const char *types)
{
	size_t length = strlen(types);
	uint32_t crc = length ? plx_crc32c(0, types, length) : 0;

	return length && !crc ? 1 : crc;
}
