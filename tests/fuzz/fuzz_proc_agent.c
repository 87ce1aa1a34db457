/* SPDX-License-Identifier: MIT */
/* fuzz_proc_agent.c - the agent's look at memory, with an input's files */

#include <stdio.h>

#include "scratch.h"

#define fopen scratch_open

#include "agent/memory/nodemem_available.c"

uint64_t fuzz_agent_room(void);

uint64_t fuzz_agent_room(void)
{
	return plx_nodemem_available();
}
