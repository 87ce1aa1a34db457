/* SPDX-License-Identifier: MIT */
/* tune.h - rank 0 thinks: the step model, the batch size, the hint */
#ifndef PLX_AGENT_TUNE_H
#define PLX_AGENT_TUNE_H

#include "agent/state/agent.h"

/* Rank 0: fit if there is news, choose `wanted`, tell the launcher. */
void plx_tune(struct pollux *p, double now_s);

#endif
