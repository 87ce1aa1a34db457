/* SPDX-License-Identifier: MIT */
/* one.c - the target that $FUZZ_TARGET names, for libFuzzer and AFL++ */

#include "fuzz.h"

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static fuzz_function *target;

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	const char *name = getenv("FUZZ_TARGET");

	(void) argc;
	(void) argv;
	target = name ? fuzz_find(name) : NULL;
	MUST(target);
	return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	return target(data, size);
}
