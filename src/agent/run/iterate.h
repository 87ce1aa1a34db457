/* SPDX-License-Identifier: MIT */
/* iterate.h - the loop of programs that are no trainings */
#ifndef PLX_AGENT_ITERATE_H
#define PLX_AGENT_ITERATE_H

#include "agent/state/agent.h"

/* "Samples" of a step of no training: so many ranks and factors of it. */
#define PLX_STEP_CELLS 2520

/* What such a run has in place of data set, batch and learning rate. */
void plx_iterate_config(struct pollux *p);

#endif
