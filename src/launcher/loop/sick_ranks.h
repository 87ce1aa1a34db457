/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * sick_ranks.h - ranks that fail where their job has just grown onto
 *
 * A node may be sick, and the job need not die of it: while the old ranks
 * train they train on; where they do not, the ranks wait for the shape on
 * which they trained last. slurmctld is told which node it was, and asked for
 * that shape (docs/resize.md, part 6).
 */
#ifndef PLX_LAUNCHER_SICK_RANKS_H
#define PLX_LAUNCHER_SICK_RANKS_H

#include <stdbool.h>

#include "core/records/failed.h"
#include "core/records/target.h"
#include "launcher/ranks/generation.h"
#include "launcher/rules/lifecycle.h"

struct plx_launcher;

struct plx_illness {
	struct plx_layout good; /* on which ranks trained last; none: never */
	char good_where[PLX_WHERE_SIZE];
	struct plx_failed found; /* of the generation that ended last */
	bool none_up;		 /* no rank of it came up on any node */
	bool pending;		 /* the old ranks are to train on first */
	int broken;	/* next ranks in a row that ended by themselves */
	int spared;	/* faults in a row that were not the program's */
	char last[256]; /* node whose rank failed last in training */
	double waits_s; /* for another shape until then, 0: not */
	struct plx_target asked; /* what it was then */
};

/* A generation is gone: which node was it? Before its notes are cleared. */
void plx_sick_find(struct plx_launcher *l, const struct plx_generation *g);

/*
 * The next ranks are gone, or late: is it for a node that is new to the job?
 * Then the old ones are to train on.
 */
bool plx_sick_next(struct plx_launcher *l);
bool plx_sick_late(struct plx_launcher *l);

/*
 * The same where it is for no node: they ended by themselves before they had
 * joined, and would if they were started when the old ones are gone. At first
 * they are started once more; then the old ones are to train on. One of
 * PLX_EVENT_AGAIN and PLX_EVENT_SICK; PLX_EVENT_NO_NEXT: it is not so.
 */
enum plx_event plx_sick_broken(struct plx_launcher *l);

/* The ranks that were to train are gone: the same; no fault of theirs then. */
bool plx_sick_now(struct plx_launcher *l, int code);

/* Tell slurmctld, ranks train on. */
void plx_sick_return(struct plx_launcher *l);
/* The job has its shape again. */
void plx_sick_keep(struct plx_launcher *l);
/*
 * Tell the user, in place of a fault, for which shape the ranks wait. False:
 * they wait for none.
 */
bool plx_sick_report(struct plx_launcher *l, int code);

/* Is another shape to come before ranks are started? */
bool plx_sick_waits(const struct plx_launcher *l);

/* Ranks train on their shape. */
void plx_sick_trained(struct plx_launcher *l);

void plx_illness_release(struct plx_illness *illness);

#endif
