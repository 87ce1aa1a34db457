/* SPDX-License-Identifier: MIT */
/*
 * image_lanes.h - the pieces of a memory image, shared out to threads
 *
 * A lane is a thread that copies and sums pieces. There are as many as the
 * calling thread has processors, eight at most, and the calling thread is one
 * of them: on one processor no thread is begun. None is left when the call
 * ends. Lanes take signals of the program's no more than other threads of ours
 * do (wire/thread.h).
 */
#ifndef PLX_AGENT_IMAGE_LANES_H
#define PLX_AGENT_IMAGE_LANES_H

#include <stddef.h>

#include "core/base/error.h"

#define PLX_LANES_MAX 8

/* Those of numbered pieces whose number, modulo `of`, is `mine`. */
struct plx_slice {
	int mine; /* from 0 */
	int of;
};

struct plx_bounce;

/* What a lane has for itself. */
struct plx_lane {
	struct plx_bounce *bounce; /* NULL until a piece needs it */
};

struct plx_lanes {
	/* The pieces of one slice: 0, or -1 with err set. */
	int (*work)(void *what, struct plx_slice slice, struct plx_lane *lane,
		    struct plx_error *err);
	void *what;	 /* borrowed */
	size_t pieces;	 /* about so many: few are not worth a thread */
	const void *gpu; /* memory of a GPU that is copied, or NULL */
	int threads;	 /* at most, the calling one among them; 0: see above */
};

/*
 * Work on all pieces, each once, in slices of any order. 0, or -1 with the
 * sentence of a lane that failed; the others then begin no further slice.
 */
int plx_lanes_run(const struct plx_lanes *lanes, struct plx_error *err);

#endif
