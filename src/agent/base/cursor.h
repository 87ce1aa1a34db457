/* SPDX-License-Identifier: MIT */
/*
 * cursor.h - where a training is in its data
 *
 * Samples are used in a keyed random order that depends on seed and epoch
 * only, or in the order of their numbers, so any number of ranks walks the
 * same order. The cursor moves when an optimiser step is committed, never
 * before. Pure.
 */
#ifndef PLX_AGENT_CURSOR_H
#define PLX_AGENT_CURSOR_H

#include <stdbool.h>
#include <stdint.h>

struct plx_cursor {
	uint64_t seed;
	uint64_t samples;  /* in the dataset, >= 1 */
	uint64_t epochs;   /* to be trained */
	uint64_t epoch;	   /* from 0; equals epochs at the end */
	uint64_t position; /* in the epoch's order, < samples */
	uint64_t step;	   /* optimiser steps committed */
	bool sequential;   /* in the order of their numbers */
};

/* Consecutive positions of the epoch's order. */
struct plx_range {
	uint64_t first;
	uint64_t count;
};

bool plx_cursor_finished(const struct plx_cursor *cursor);

/*
 * Samples of the next step: total_batch, or what is left of the epoch. What
 * is left for two steps is halved, so that the last one is not tiny.
 */
uint64_t plx_cursor_batch(const struct plx_cursor *cursor,
			  uint64_t total_batch);

/*
 * Part `part` of `parts` of the next `batch` samples. Parts tile the batch
 * and differ by at most one sample.
 */
struct plx_range plx_cursor_part(const struct plx_cursor *cursor,
				 uint64_t batch, uint64_t part, uint64_t parts);

/* The dataset's number of the sample at a position of this epoch. */
uint64_t plx_cursor_sample(const struct plx_cursor *cursor, uint64_t position);

/* One step with this many samples was committed. */
void plx_cursor_advance(struct plx_cursor *cursor, uint64_t batch);

/* Samples used so far, over all epochs. */
uint64_t plx_cursor_used(const struct plx_cursor *cursor);

/* Share of the training done, 0 to 1. */
double plx_cursor_progress(const struct plx_cursor *cursor);

#endif
