/* SPDX-License-Identifier: MIT */
/* restore_read.h - the state out of a checkpoint, on however many ranks */
#ifndef PLX_AGENT_RESTORE_READ_H
#define PLX_AGENT_RESTORE_READ_H

#include "agent/state/store.h"

enum plx_read {
	PLX_READ_GOOD,
	PLX_READ_BROKEN,  /* try the one before */
	PLX_READ_FOREIGN, /* good, but not this training's */
	PLX_READ_LOST,	  /* other ranks, or memory */
};

/*
 * Collective: fill arrays, profile and blobs from the checkpoint of this name
 * in p's folder; all ranks come to the same. err is set unless it is GOOD.
 */
enum plx_read plx_restore_read(struct pollux *p,
			       const struct plx_manifest *manifest,
			       const char *name, struct plx_error *err);

/* Collective: rank 0's arrays and profile to all. */
int plx_restore_spread(struct pollux *p);

#endif
