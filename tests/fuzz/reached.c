/* SPDX-License-Identifier: MIT */
/*
 * reached.c - which functions were entered
 *
 * With -finstrument-functions the compiler calls one of these at the begin of
 * each; this file and fuzz.c are compiled without.
 */

#include <stdbool.h>

#include "fuzz.h"
#include "reached.h"

#define SLOTS 16384 /* a power of two, well above the number of functions */

static void *entered[SLOTS];

void __cyg_profile_func_enter(void *function, void *caller);
void __cyg_profile_func_exit(void *function, void *caller);

/* Streams and their threads may come here together: a slot lost is no harm. */
void __cyg_profile_func_enter(void *function, void *caller)
{
	size_t at = ((uintptr_t) function >> 2) & (SLOTS - 1);

	(void) caller;
	while (entered[at] && entered[at] != function)
		at = (at + 1) & (SLOTS - 1);
	entered[at] = function;
}

void __cyg_profile_func_exit(void *function, void *caller)
{
	(void) function;
	(void) caller;
}

void reached_write(const char *path)
{
	FILE *out = fopen(path, "w");

	MUST(out);
	for (size_t i = 0; i < SLOTS; i++) {
		if (entered[i])
			fprintf(out, "%p\n", entered[i]);
	}
	MUST(fclose(out) == 0);
}
