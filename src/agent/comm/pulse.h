/* SPDX-License-Identifier: MIT */
/*
 * pulse.h - each rank tells what it does while no step is committed
 *
 * A thread looks once a second. When the rank has not moved for a while it
 * writes where it is and whether it uses its processors, into a small file
 * that the launcher reads (wire/rank_file.h). All functions take NULL: there
 * is no launcher.
 */
#ifndef PLX_AGENT_PULSE_H
#define PLX_AGENT_PULSE_H

#include <stdbool.h>
#include <stdint.h>

struct plx_pulser;
struct plx_rank_word;

/* Where a rank is. */
struct plx_pulse_place {
	uint64_t step; /* committed so far */
	bool summed;   /* it has taken part in the sum of the next one */
	bool between;  /* ... or is between two steps, or has ended */
};

/*
 * Training begins, with checkpoints in that folder ("": none), which is copied.
 * The caller's to end. NULL: there is no launcher.
 */
struct plx_pulser *plx_pulse_begin(int rank, const char *folder,
				   struct plx_pulse_place at);
void plx_pulse_end(struct plx_pulser *u);

/* It is there now. */
void plx_pulse_moved(struct plx_pulser *u, struct plx_pulse_place at);

/* Its program holds (pollux_hold()), or does not any more. */
void plx_pulse_hold(struct plx_pulser *u, bool hold);

/* The program says that it is busy (pollux_beat()). */
void plx_pulse_beat(struct plx_pulser *u);

/* The library has control: it waits for other ranks, saves, restores. */
void plx_pulse_waits(struct plx_pulser *u);

/* This rank has saved the last commit on its own. */
void plx_pulse_rescued(struct plx_pulser *u, uint64_t step);

/*
 * This rank ends its run in the middle of the training, which may be right: all
 * may do so after the same step. Where others wait for it, it is missed.
 */
void plx_pulse_ended(struct plx_pulser *u);

/*
 * Has a rank ended its run that this one waits for? Then *who is it: never will
 * the wait be over. Looks once a second.
 */
bool plx_pulse_misses(struct plx_pulser *u, struct plx_rank_word *who);

/*
 * Does another rank tell that it is busy (validating, say) and lives? Then
 * waiting for it is no error. Asked rarely: the answer is about the time since
 * it was asked last.
 */
bool plx_pulse_others_busy(struct plx_pulser *u);

#endif
