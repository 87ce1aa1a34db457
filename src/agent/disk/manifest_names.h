/* SPDX-License-Identifier: MIT */
/* manifest_names.h - names inside a manifest, for its writer and reader */
#ifndef PLX_AGENT_MANIFEST_NAMES_H
#define PLX_AGENT_MANIFEST_NAMES_H

#include <inttypes.h>

#include "agent/disk/manifest.h"

#define PLX_MANIFEST_FORMAT "pollux-2"
#define PLX_SEAL_FORMAT	    ",\"seal\":\"%08" PRIx32 "\"}\n"
#define PLX_SEAL_TAIL	    20 /* bytes of it */

/* Facts that are plain numbers in JSON. */
struct plx_fact_name {
	const char *key;
	size_t offset; /* in struct plx_facts, a uint64_t */
};

#define PLX_FACT_COUNT 9

extern const struct plx_fact_name plx_fact_names[PLX_FACT_COUNT];

const uint64_t *plx_fact_at(const struct plx_facts *facts, int fact);

#endif
