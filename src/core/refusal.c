/* SPDX-License-Identifier: MIT */
/* refusal.c - why a job did not get what it was to have, in a word */

#include <stddef.h>
#include <string.h>

#include "core/refusal.h"

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

static const char *const names[] = {
	[PLX_REFUSED_LIMITS] = "limits", [PLX_REFUSED_ROOM] = "room",
	[PLX_REFUSED_NODES] = "nodes",	 [PLX_REFUSED_HOME] = "home",
	[PLX_REFUSED_RANKS] = "ranks",	 [PLX_REFUSED_STEPS] = "steps",
	[PLX_REFUSED_OTHER] = "other",
};

/* The first that is part of the sentence tells. */
static const struct {
	const char *part;
	enum plx_refusal kind;
} parts[] = {
	/* clang-format off */
	{ "its ranks failed",	PLX_REFUSED_RANKS },
	{ "account",		PLX_REFUSED_LIMITS },
	{ "QOS",		PLX_REFUSED_LIMITS },
	{ "limit",		PLX_REFUSED_LIMITS },
	{ "licen",		PLX_REFUSED_LIMITS },
	{ "home",		PLX_REFUSED_HOME },
	{ "steps do not end",	PLX_REFUSED_STEPS },
	{ "not a node any more", PLX_REFUSED_NODES },
	{ "reserv",		PLX_REFUSED_NODES },
	{ "drain",		PLX_REFUSED_NODES },
	{ "may not",		PLX_REFUSED_NODES },
	{ "its user asked",	PLX_REFUSED_NODES },
	{ " free",		PLX_REFUSED_ROOM },
	{ "GPUs are gone",	PLX_REFUSED_ROOM },
	{ "enough",		PLX_REFUSED_ROOM },
	{ "other GPUs",		PLX_REFUSED_ROOM },
	/* clang-format on */
};

const char *plx_refusal_name(enum plx_refusal refusal)
{
	return (size_t) refusal < COUNT(names) ? names[refusal] : "other";
}

enum plx_refusal plx_refusal_of(const char *why)
{
	for (size_t i = 0; i < COUNT(parts); i++) {
		if (strstr(why, parts[i].part))
			return parts[i].kind;
	}
	return PLX_REFUSED_OTHER;
}
