/* SPDX-License-Identifier: MIT */
/* fuzz_usage.c - slurmctld's own file that tells when usage was counted */

#include <stdint.h>
#include <stdio.h>

#include "fuzz.h"
#include "scratch.h"

#define fopen scratch_open

#include "sched/pollux/rules/decay.c"

int fuzz_usage(const uint8_t *data, size_t size)
{
	pollux_decay_find();
	scratch_files(data, size);
	pollux_decay_read();
	MUST(pollux_decay_last() >= 0);
	return 0;
}
