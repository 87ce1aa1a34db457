/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * busy.h - ranks that commit no step: what do they do?
 *
 * They tell it themselves, each by a small file (wire/rank_file.h). It is read
 * when somebody wants to lose patience with them: a rank that validates does
 * not hang, and what it does at the end of an epoch is worth waiting for.
 */
#ifndef PLX_LAUNCHER_BUSY_H
#define PLX_LAUNCHER_BUSY_H

#include <stdbool.h>
#include <stddef.h>

#include "wire/rank_file.h"

struct plx_launcher;

/* A rank's pulse, and when it was seen to change. */
struct plx_busy_rank {
	struct plx_pulse pulse;
	double seen_s;
};

struct plx_busy {
	int generation; /* whose they are */
	struct plx_busy_rank *ranks;
	int count;
	bool waited;   /* the deadline of this stage was put off */
	double look_s; /* next look for what slurmctld is to be told */
};

/* Does a rank that lives excuse that no step was committed for limit_s? */
bool plx_busy_excuses(struct plx_launcher *l, double limit_s);

/*
 * Who the others wait for: "rank 3 on n2 works on step 512 since 130 s";
 * "" where no rank tells anything.
 */
void plx_busy_late(const struct plx_launcher *l, char *text, size_t size);

/*
 * The stage's time is up: do the ranks that are to leave get more, as one of
 * them is busy between two steps? Says so, once.
 */
bool plx_busy_waits(struct plx_launcher *l);

/*
 * slurmctld waits for ranks to leave: tell it, in the status, when one of them
 * is busy. That stands until they are through, or are killed.
 */
void plx_busy_watch(struct plx_launcher *l);
void plx_busy_through(struct plx_launcher *l);

/* When to look again; INFINITY: no need. */
double plx_busy_due_s(const struct plx_launcher *l);

/* Another stage begins. */
void plx_busy_anew(struct plx_launcher *l);

void plx_busy_release(struct plx_busy *busy);

#endif
