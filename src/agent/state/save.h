/* SPDX-License-Identifier: MIT */
/*
 * save.h - checkpoints of a run: when, and how
 *
 * All but plx_save_due() and plx_save_report() are collective: each rank writes
 * its share of the state, rank 0 commits. State must be consistent, that is
 * between two optimiser steps. Failures are negative, a value of enum
 * pollux_status, with the sentence in p->err.
 */
#ifndef PLX_AGENT_SAVE_H
#define PLX_AGENT_SAVE_H

#include <stdbool.h>
#include <stdint.h>

struct pollux;

enum plx_save_kind {
	PLX_SAVE_FLUSHED, /* on disk when it returns: survives a power loss */
	PLX_SAVE_ASYNC,	  /* copied when it returns; the rest while training */
	PLX_SAVE_QUICK,	  /* readable by the next generation, flushed later */
};

/*
 * 0: saved, or (ASYNC) under way. PLX_SAVE_LATER (store.h): the disk is full or
 * broken; training may go on, plx_save_due() will ask again. Negative: leave;
 * with POLLUX_ESTATE a newer generation owns the folder. The same on all ranks.
 * A state that is there already is not written again.
 */
int plx_save(struct pollux *p, enum plx_save_kind kind);

/* Rank 0: is it time? From cost and failure rate, or as configured. */
bool plx_save_due(struct pollux *p);

/* Wait until an asynchronous save has ended well or badly; as plx_save(). */
int plx_save_wait(struct pollux *p);

/* Rank 0 tells the launcher that state is saved; held: "" or " held=1". */
void plx_save_report(struct pollux *p, const char *held);

/* Threads and memory; before the collectives go. */
void plx_save_release(struct pollux *p);

#endif
