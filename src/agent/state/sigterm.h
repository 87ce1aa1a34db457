/* SPDX-License-Identifier: MIT */
/* sigterm.h - a SIGTERM saves the last commit before it ends us */
#ifndef PLX_AGENT_SIGTERM_H
#define PLX_AGENT_SIGTERM_H

#include "agent/state/agent.h"

/* From now on a SIGTERM saves the last commit before it ends us. */
void plx_guard_begin(struct pollux *p);
void plx_guard_end(struct pollux *p);

#endif
