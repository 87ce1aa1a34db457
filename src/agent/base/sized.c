/* SPDX-License-Identifier: MIT */
/* sized.c - structs of programs that were built with another pollux.h */
#include <config.h>

#include <stdbool.h>
#include <string.h>

#include "agent/base/sized.h"

int plx_sized_check(const struct plx_sized *is, size_t size,
		    struct plx_error *err)
{
	if (size >= is->first)
		return 0;
	return plx_fail(err,
			"%s: %s has %zu bytes, want %zu or more: build the "
			"program with the pollux.h of libpollux %s",
			is->call, is->name, size, is->first, PACKAGE_VERSION);
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

int plx_sized_take(const struct plx_sized *is, const void *from, size_t size,
		   void *to, struct plx_error *err)
{
	if (plx_sized_check(is, size, err) < 0)
		return -1;
	if (sets_unknown(is, from, size))
		return plx_fail(err,
				"%s: %s sets a field that libpollux %s does "
				"not know: it is older than the program",
				is->call, is->name, PACKAGE_VERSION);
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
