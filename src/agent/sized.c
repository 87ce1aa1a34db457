/* SPDX-License-Identifier: MIT */
/* sized.c - structs of programs that were built with another pollux.h */
#include <string.h>

#include "agent/agent.h"
#include "agent/sized.h"

int plx_sized_check(struct pollux *p, const struct plx_sized *is,
		    const void *to, size_t size)
{
	int rc = plx_given(p, is->call, is->name, to);

	if (rc < 0 || size >= is->first)
		return rc;
	return plx_wrong(p,
			 "%s: %s has %zu bytes, want %zu or more: build the "
			 "program with the pollux.h of libpollux %s",
			 is->call, is->name, size, is->first, pollux_version());
}

static bool sets_unknown(const struct plx_sized *is, const char *from,
			 size_t size)
{
	for (size_t i = is->now; i < size; i++) {
		if (from[i])
			return true;
	}
	return false;
}

static size_t least(size_t a, size_t b)
{
	return a < b ? a : b;
}

int plx_sized_take(struct pollux *p, const struct plx_sized *is,
		   const void *from, size_t size, void *to)
{
	int rc = plx_sized_check(p, is, from, size);

	if (rc < 0)
		return rc;
	if (sets_unknown(is, from, size))
		return plx_wrong(p,
				 "%s: %s sets a field that libpollux %s does "
				 "not know: it is older than the program",
				 is->call, is->name, pollux_version());
	memset(to, 0, is->now);
	memcpy(to, from, least(size, is->now));
	return 0;
}

void plx_sized_fill(const struct plx_sized *is, const void *from, void *to,
		    size_t size)
{
	memset(to, 0, size);
	memcpy(to, from, least(size, is->now));
}
