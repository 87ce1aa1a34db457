/* SPDX-License-Identifier: MIT */
/* find.c - targets by their names */

#include "fuzz.h"

static const struct {
	const char *name;
	fuzz_function *run;
} targets[] = {
#define FUZZ_ROW(name) { #name, fuzz_##name },
	FUZZ_TARGETS(FUZZ_ROW)
};

fuzz_function *fuzz_find(const char *name)
{
	for (size_t i = 0; i < sizeof(targets) / sizeof(targets[0]); i++) {
		if (!strcmp(targets[i].name, name))
			return targets[i].run;
	}
	return NULL;
}
