/* SPDX-License-Identifier: MIT */
/* step_votes.h - votes of the ranks, which travel behind the gradient */
#ifndef PLX_AGENT_STEP_VOTES_H
#define PLX_AGENT_STEP_VOTES_H

#include "agent/state/agent.h"

/* How many numbers travel behind the gradient. */
size_t plx_step_votes_count(const struct pollux *p);
#define PLX_STEP_VOTES_MAX (17 + 2 * POLLUX_GROUPS_MAX)

/* What this rank has to say about the step, to be summed. */
void plx_step_votes_write(struct pollux *p, float *votes);

/* What all have said, summed. -1: they do not agree. */
int plx_step_votes_read(struct pollux *p, const float *votes);

#endif
