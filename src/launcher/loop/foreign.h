/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * foreign.h - programs that do not link libpollux, and what they are told
 *
 * pollux-rank speaks for such a program, with notes (rank_notes.h): it has a
 * handler for the signal, so it can be told; it has saved; it has failed.
 * from_notes.c makes events of them.
 */
#ifndef PLX_LAUNCHER_FOREIGN_H
#define PLX_LAUNCHER_FOREIGN_H

#include <stdbool.h>

#include "launcher/ranks/generation.h"
#include "launcher/rank/rank_notes.h"

/* Between signals to the same rank: it may have been too young for the first.
 */
#define PLX_NUDGE_S 1.0

struct plx_launcher;

struct plx_foreign {
	double look_s; /* next look for a note, or nudge */
	bool told;     /* that the job keeps its size */
	bool has_exit; /* the ranks that ended last left word how: */
	struct plx_exit exit;
	bool rescued; /* one has saved the last commit for all: */
	struct plx_rank_word rescue;
	bool has_error; /* an error of the program itself, it said: */
	struct plx_rank_word error;
};

/* Do these ranks listen to signals, as far as we know? */
bool plx_foreign_by_signal(const struct plx_launcher *l);

/* These ranks do not speak to us, and have a handler for the signal. */
bool plx_foreign_listens(const struct plx_launcher *l);

/* The ranks are told to stop: those that do not listen, by signal. */
void plx_foreign_stop(struct plx_launcher *l);

/* Write a checkpoint and train on (SIGUSR1). */
void plx_foreign_checkpoint(struct plx_launcher *l);

#endif
