/* SPDX-License-Identifier: MIT */
/*
 * handover.h - from one generation of ranks to the next, through memory
 *
 * The old ranks copy their state into memory of their node and wait; the new
 * ones, initialised beside them, take it from there (docs/resize.md). All are
 * collective.
 */
#ifndef PLX_AGENT_HANDOVER_H
#define PLX_AGENT_HANDOVER_H

#include <stdbool.h>

struct pollux;

/* Get the memory for the copy, in the background; between two steps. */
void plx_handover_prepare(struct pollux *p);

/*
 * Rank 0, of wishes that have come: a hand waits until the memory is there,
 * training goes on meanwhile. Not collective.
 */
unsigned int plx_handover_defer(struct pollux *p, unsigned int wishes);

/*
 * At a step's boundary: hand the state over, wait for the launcher's word.
 * 1: nobody took it, train on. 0: leave. -1: failed.
 */
int plx_handover_give(struct pollux *p);

/*
 * In pollux_start(), of a process started ahead: say that we are ready, wait
 * for the word to go, take the state from memory. 1: taken. 0: go on from a
 * checkpoint (also when not started ahead). -1: failed, or called off.
 */
int plx_handover_take(struct pollux *p);

/*
 * The old ranks handed over and died: what the program has registered is not
 * as it was at first, so that only a checkpoint will do.
 */
bool plx_handover_spoilt(const struct pollux *p);

void plx_handover_release(struct pollux *p);

#endif
