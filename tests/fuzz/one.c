/* SPDX-License-Identifier: MIT */
/* one.c - one target, for libFuzzer and AFL++: -DFUZZ_ONE=fuzz_hint */

#include "fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	return FUZZ_ONE(data, size);
}
