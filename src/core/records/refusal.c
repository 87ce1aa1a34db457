/* SPDX-License-Identifier: MIT */
/* refusal.c - why a job did not get what it was to have, in a word */

#include "core/records/refusal.h"

static const char *const names[PLX_REFUSALS] = {
	[PLX_REFUSED_OTHER] = "other",	   [PLX_REFUSED_LIMITS] = "limits",
	[PLX_REFUSED_RESOURCES] = "room",  [PLX_REFUSED_NODES] = "nodes",
	[PLX_REFUSED_BATCH_HOST] = "home", [PLX_REFUSED_STEPS] = "steps",
	[PLX_REFUSED_RANKS] = "ranks",
};

const char *plx_refusal_name(int refusal)
{
	if (refusal < 0 || refusal >= PLX_REFUSALS)
		refusal = PLX_REFUSED_OTHER;
	return names[refusal];
}
