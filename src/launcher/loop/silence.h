/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * silence.h - does a node still answer?
 *
 * A machine without power says nothing, so nobody's connection to it ends. We
 * ask its kernel: a connection to slurmd's port, which srun needs as well, is
 * accepted or refused by a node that lives, however busy. slurmd logs a line
 * for a connection that says nothing, so this is only done when something else
 * is wrong. A thread does it, for it takes a second.
 */
#ifndef PLX_LAUNCHER_SILENCE_H
#define PLX_LAUNCHER_SILENCE_H

#include <stdbool.h>

#include "core/base/error.h"
#include "launcher/rules/layout.h"

struct plx_silence;

/* What came of knocking. */
struct plx_knocked {
	double began_s;		  /* CLOCK_MONOTONIC */
	struct plx_layout silent; /* names alone; the caller's to release */
	int answered;		  /* so many others did, at once */
};

/* NULL with err set. */
struct plx_silence *plx_silence_create(struct plx_error *err);
void plx_silence_destroy(struct plx_silence *silence); /* takes NULL */

/* Learn where these nodes are (copied), while slurmctld is there to ask. */
void plx_silence_learn(struct plx_silence *silence,
		       const struct plx_layout *nodes);

/* Knock at each of them (copied) but own, which may be NULL. */
void plx_silence_knock(struct plx_silence *silence,
		       const struct plx_layout *nodes, const char *own);

int plx_silence_fd(const struct plx_silence *silence); /* readable: an answer */

/* False: there is none yet. */
bool plx_silence_take(struct plx_silence *silence, struct plx_knocked *knocked);

#endif
