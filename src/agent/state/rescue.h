/* SPDX-License-Identifier: MIT */
/* rescue.h - one rank, on its own, saves the last commit */
#ifndef PLX_AGENT_RESCUE_H
#define PLX_AGENT_RESCUE_H

#include "agent/state/agent.h"

/*
 * One rank, on its own: the others are lost. State of the last commit, as a
 * checkpoint that the next generation finds. At most some seconds.
 */
int plx_rescue(struct pollux *p);

/*
 * The program begins to change the state (an optimiser step), and is done:
 * between the two there is nothing to rescue. Called at every change of stage.
 */
void plx_state_changing(struct pollux *p);
void plx_state_settled(struct pollux *p);

#endif
