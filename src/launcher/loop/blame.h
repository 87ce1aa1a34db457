/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * blame.h - ranks were started and failed: on which of their nodes?
 *
 * Pure. What is known: the shape they were to have, the last one on which
 * ranks trained, the nodes from which a rank has reported, and how the first
 * one failed that failed by itself.
 */
#ifndef PLX_LAUNCHER_BLAME_H
#define PLX_LAUNCHER_BLAME_H

#include <stdbool.h>

#include "core/records/failed.h"
#include "launcher/rules/layout.h"
#include "launcher/rank/rank_notes.h"

struct plx_evidence {
	const struct plx_layout *shape; /* of the ranks that failed */
	const struct plx_layout *good;	/* the last that trained; may be none */
	const bool *here;	    /* [shape->count] a rank has reported; NULL:
				       none can */
	const struct plx_exit *how; /* the first that failed; NULL: no word */
};

/*
 * Name the nodes: those that never reported, where others have; or that of the
 * rank that failed, where it is new, or has more ranks than before. None where
 * it is not known.
 */
void plx_blame(const struct plx_evidence *evidence, struct plx_failed *failed);

/* It ended or crashed, and was not killed from outside; NULL: no word. */
bool plx_blame_itself(const struct plx_exit *how);

/* Has the shape a node that the good one has no rank on? */
bool plx_blame_is_new(const struct plx_layout *shape,
		      const struct plx_layout *good);

/*
 * Do they tell that two generations of ranks do not go together, on a GPU, in
 * memory or at a port? One after the other they may.
 */
bool plx_blame_crowd(const char *lines);

/* Do a rank's last words tell of a GPU that is broken? */
bool plx_blame_gpu(const char *lines);

#endif
