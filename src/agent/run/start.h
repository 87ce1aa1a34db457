/* SPDX-License-Identifier: MIT */
/* start.h - the end of the run that pollux_start() began */
#ifndef PLX_AGENT_START_H
#define PLX_AGENT_START_H

#include "agent/state/agent.h"

/* The run has finished, or left: the launcher, if there is one, knows. */
void plx_run_ended(void);

#endif
