/* SPDX-License-Identifier: MIT */
/*
 * samplelog.h - which samples were used, for tests
 *
 * With POLLUX_SAMPLE_LOG=DIR every rank writes DIR/GENERATION.RANK, where
 * generation counts the starts of the training. First line: "from STEP", the
 * step restored. Then, at each commit, a line for each part it trained on:
 *
 *	STEP EPOCH FIRST COUNT SUM
 *
 * The same after the word "sum", with a line "sum STEP" before them, when the
 * gradients are about to be summed up: a rank that is killed before it commits
 * has all the same taken part in the step that the others committed.
 *
 * COUNT positions of the epoch's order from FIRST on, and the sum of the
 * numbers of their samples. Lines with a STEP not below a later generation's
 * "from" were rolled back. tests/samples.sh reads all this.
 */
#ifndef PLX_AGENT_SAMPLELOG_H
#define PLX_AGENT_SAMPLELOG_H

#include <stdint.h>

#include "agent/base/cursor.h"
#include "agent/comm/coll.h"
#include "core/base/error.h"

struct plx_samplelog;

/* Collective. *log is NULL, and all below do nothing, without the variable. */
int plx_samplelog_create(struct plx_samplelog **log, struct plx_coll *coll,
			 uint64_t from_step, struct plx_error *err);
void plx_samplelog_destroy(struct plx_samplelog *log); /* accepts NULL */

/* A part of the present step was given out: remembered, not written. */
int plx_samplelog_add(struct plx_samplelog *log, const struct plx_range *part,
		      uint64_t sum, struct plx_error *err);

/* The step begins anew: forget its parts. */
void plx_samplelog_drop(struct plx_samplelog *log);

/* The parts are about to be summed up with those of the others. */
int plx_samplelog_sum(struct plx_samplelog *log,
		      const struct plx_cursor *cursor, struct plx_error *err);

/* The step is committed: write its parts. cursor is not yet advanced. */
int plx_samplelog_commit(struct plx_samplelog *log,
			 const struct plx_cursor *cursor,
			 struct plx_error *err);

#endif
