/* SPDX-License-Identifier: MIT */
/* step_size.h - how many samples a step has */
#ifndef PLX_AGENT_STEP_SIZE_H
#define PLX_AGENT_STEP_SIZE_H

#include "agent/state/agent.h"

/*
 * The step has all the samples it may have, so that its parts are alike: not
 * the smaller one at the end of an epoch of several steps.
 */
bool plx_step_whole(const struct pollux *p);

/* Samples of a full step, at the batch in use. */
uint64_t plx_step_total(const struct pollux *p);

#endif
