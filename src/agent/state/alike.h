/* SPDX-License-Identifier: MIT */
/* alike.h - do all ranks still have the same state? */
#ifndef PLX_AGENT_ALIKE_H
#define PLX_AGENT_ALIKE_H

#include "agent/state/agent.h"

/*
 * Collective, between two steps: -1 with the name of the first array where
 * ranks have come apart by more than rounding.
 */
int plx_alike(struct pollux *p);

#endif
