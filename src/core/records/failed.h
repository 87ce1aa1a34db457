/* SPDX-License-Identifier: MIT */
/*
 * failed.h - where a job's ranks failed, as its launcher tells
 *
 *	failed=SERIAL[:NODE[,NODE...]] ... [why=WORDS]
 *
 * SERIAL is that of the target that the ranks were started for. Without a name
 * the launcher does not know on which of its nodes it was. WORDS, at the end of
 * the status, are the program's last ones, where ranks fail on any node. The
 * text is the job's: it is bounded, and a name in it is only a claim.
 */
#ifndef PLX_CORE_FAILED_H
#define PLX_CORE_FAILED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/error.h"
#include "core/base/fields.h"

#define PLX_FAILED_NODES 4   /* named at most */
#define PLX_FAILED_SIZE	 128 /* bytes of the names, with the final NUL */
#define PLX_FAILED_WHY	 96  /* and of the reason */

/* What everybody says of a job whose next ranks fail; WORDS follow. */
#define PLX_FAILED_SAYS "cannot be resized: new ranks fail: "

struct plx_failed {
	bool is;		     /* false: nothing failed, the rest is 0 */
	uint32_t serial;	     /* of the target; 0: it had none yet */
	char nodes[PLX_FAILED_SIZE]; /* "n2,n3"; "": not known which */
	char why[PLX_FAILED_WHY];    /* printable; "": no such words */
};

/* Add a name, once. False where it does not fit, or is none of a node. */
bool plx_failed_add(struct plx_failed *failed, const char *node);

/* Is the node one of those named? */
bool plx_failed_names(const struct plx_failed *failed, const char *node);

bool plx_failed_equal(const struct plx_failed *a, const struct plx_failed *b);

/* Set the words: cut, and what cannot be printed becomes a '?'. */
void plx_failed_say(struct plx_failed *failed, const char *why);

/* The field; nothing when nothing failed. The words come last of all. */
void plx_failed_write(struct plx_writer *w, const struct plx_failed *failed);
void plx_failed_write_why(struct plx_writer *w,
			  const struct plx_failed *failed);

/* 1: found; 0: no such field, *failed is zeroed; -1: broken, err says why. */
int plx_failed_read(const char *fields, struct plx_failed *failed,
		    struct plx_error *err);

#endif
