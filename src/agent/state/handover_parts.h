/* SPDX-License-Identifier: MIT */
/*
 * handover_parts.h - the inside of a handover
 *
 * handover.c		who says what when: prepare, give, take
 * handover_parts.c	what goes from one generation to the next
 * handover_fetch.c	getting it from memory, ahead of the word to do so
 */
#ifndef PLX_AGENT_HANDOVER_PARTS_H
#define PLX_AGENT_HANDOVER_PARTS_H

#include "agent/memory/memory_image.h"
#include "agent/memory/nodemem.h"
#include "agent/state/agent.h"

/* Where the training is, besides what the program registered. */
struct plx_handed {
	struct plx_cursor cursor;
	uint64_t flushed;   /* step */
	double unflushed_s; /* since then */
	struct plx_profile profile;
};

struct plx_fetch;

struct plx_handover {
	struct plx_image_part *list;
	struct plx_parts parts; /* of list: registered state, then handed */
	struct plx_handed handed;
	struct plx_memory_image_facts facts; /* who we are */
	struct plx_slice slice;	 /* of the ranks that share our memory */
	struct plx_nodemem *mem; /* this node's, to give; NULL: none yet */
	double hand_s; /* rank 0 was asked to hand over, and waits; 0: not */
	bool spoilt;   /* arrays have changed, but we go on from a checkpoint */
	struct plx_fetch *fetch; /* to take */
};

/* p->handover, made if it is not there: collective. NULL with p->err set. */
struct plx_handover *plx_handover_get(struct pollux *p);

/* Blobs have the size they have now; handed is what p says. */
void plx_handover_pack(struct pollux *p);

/* The other way round: p goes on from handed. -1: it is nonsense. */
int plx_handover_unpack(struct pollux *p);

/* ---- handover_fetch.c ---- */

/*
 * Look for the state of a generation before ours in this node's memory, and
 * copy it as soon as it is there: from a thread of its own. NULL with err
 * set.
 */
struct plx_fetch *plx_fetch_start(struct pollux *p, struct plx_error *err);

/*
 * The word has come to take what that generation holds. 1: it is in p's memory,
 * checked. 0: this node has none (err says why). -1: it has, but that is not
 * good.
 */
int plx_fetch_finish(struct pollux *p, uint64_t generation,
		     struct plx_error *err);

/* Has it copied anything? It will no more. */
bool plx_fetch_touched(struct plx_fetch *fetch);

/* Accepts NULL. */
void plx_fetch_destroy(struct plx_fetch *fetch);

/*
 * Collective: ranks that have the state give it to the others. here: what
 * plx_fetch_finish() returned. 0, or -1 with p->err set.
 */
int plx_fetch_spread(struct pollux *p, int here);

#endif
