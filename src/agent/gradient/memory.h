/* SPDX-License-Identifier: MIT */
/* memory.h - how large a pass may be that fits into a GPU */
#ifndef PLX_AGENT_MEMORY_H
#define PLX_AGENT_MEMORY_H

#include "agent/state/agent.h"

/* What is known of memory narrows the limits. */
void plx_memory_limit(struct pollux *p);

/* Passes of this size fit. */
void plx_memory_fits(struct pollux *p);

/*
 * They do not: choose a smaller batch, the same on all ranks. Collective. On
 * the rank where they do not, plx_memory_full() has been called.
 */
int plx_memory_shrink(struct pollux *p);
void plx_memory_full(struct pollux *p);

/*
 * What this rank's GPU says, measured once a second at most: has it no room
 * for a second rank like this one? No more than when a pass did not fit?
 */
bool plx_memory_tight(struct pollux *p);
bool plx_memory_cramped(struct pollux *p);

/* What all ranks' GPUs say: how many of them are tight, how many cramped. */
void plx_memory_heard(struct pollux *p, int tight, int cramped);

/* Between two steps: has that changed? Then limits may end. */
void plx_memory_follow(struct pollux *p);

#endif
