/* SPDX-License-Identifier: MIT */
/* background.h - save while training goes on */
#ifndef PLX_AGENT_BACKGROUND_H
#define PLX_AGENT_BACKGROUND_H

#include "agent/state/store.h"

/* Give the room for a copy back. False: there is none. */
bool plx_background_forget(struct plx_store *store);

/* Begin the one that is in store->background.job. */
void plx_background_begin(struct pollux *p);

/* Rank 0: if it has ended, note how. */
void plx_background_look(struct pollux *p);

/* Collective: wait for it, rank 0 notes how it ended. 0 or -1. */
int plx_background_end(struct pollux *p);

/* Get the memory for the copy, in yet another thread; it is needed soon. */
void plx_background_prepare(struct pollux *p);

/* Give up what is under way. */
void plx_background_release(struct plx_store *store);

#endif
