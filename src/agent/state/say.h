/* SPDX-License-Identifier: MIT */
/* say.h - what a run tells its user, and what kind of error it had */
#ifndef PLX_AGENT_SAY_H
#define PLX_AGENT_SAY_H

#include "agent/state/agent.h"

/* A "pollux: ..." line on stderr by rank 0, unless quiet. */
void plx_say(const struct pollux *p, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

/* Remember what kind of error this is, unless one is known. Always -1. */
int plx_fault(struct pollux *p, enum pollux_status code);

#endif
