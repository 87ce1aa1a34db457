/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * handover_acts.h - the launcher's acts of a handover, from one generation to
 * the next (docs/resize.md)
 *
 *	lend	 "there is room for both, please"; rank 0 gets memory ready
 *	try	 start one rank beside, of a program that was changed
 *	warm	 start the next ranks beside the old ones
 *	hand	 the next wait: the old ones hand their state over, and wait
 *	go	 the next ones take it and train
 *	promote	 they have: the old ones leave
 *	resume	 they have not: the old ones train on
 *	adopt	 the old ones are gone: the next ones go from a checkpoint
 */
#ifndef PLX_LAUNCHER_HANDOVER_ACTS_H
#define PLX_LAUNCHER_HANDOVER_ACTS_H

#include <stdbool.h>

struct plx_launcher;

/* Can the next ranks be started beside those that train? */
bool plx_handover_possible(struct plx_launcher *l);

/*
 * They cannot, and the program is not what it was: is one rank to be tried
 * before those that train are stopped? What is broken fails at once.
 */
bool plx_handover_untried(const struct plx_launcher *l);

void plx_handover_overlap(struct plx_launcher *l);
void plx_handover_keep(struct plx_launcher *l);
/* -1: they could not be started, and a line says why. */
int plx_handover_try(struct plx_launcher *l);
int plx_handover_warm(struct plx_launcher *l);
void plx_handover_hand(struct plx_launcher *l);
void plx_handover_go(struct plx_launcher *l);
void plx_handover_promote(struct plx_launcher *l);
void plx_handover_resume(struct plx_launcher *l);
void plx_handover_adopt(struct plx_launcher *l);
void plx_handover_follow(struct plx_launcher *l);

/* The same as they fail: for a while, no other handover is tried. */
void plx_handover_give_up(struct plx_launcher *l);

/* The next ranks are not wanted any more: they are killed. None is fine. */
void plx_handover_call_off(struct plx_launcher *l);

/* Ranks that hold their state are told to train on. */
void plx_handover_release(struct plx_launcher *l);

/* Watch over the end of ranks on their way out. */
void plx_handover_see_off(struct plx_launcher *l);

/* Once none are, what was lent to the job goes back. */
void plx_handover_give_back(struct plx_launcher *l);

#endif
