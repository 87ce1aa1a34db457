/* SPDX-License-Identifier: MIT */
/*
 * peek.c - what this rank will probably be given later, to read ahead
 *
 * As if neither batch nor ranks were to change and no pass failed.
 */
#include <config.h>

#include <stdlib.h>

#include "agent/base/sized.h"
#include "agent/gradient/step_size.h"
#include "agent/state/agent.h"
#include "agent/state/call.h"
#include "agent/state/say.h"

static int allocate(struct pollux *p, uint64_t count)
{
	uint64_t *more;

	if (count <= p->step.peeked_capacity)
		return 0;
	more = realloc(p->step.peeked, count * sizeof(*more));
	if (!more) {
		plx_fail(&p->err, "out of memory");
		return plx_fault(p, POLLUX_ENOMEM);
	}
	p->step.peeked = more;
	p->step.peeked_capacity = count;
	return 0;
}

/* The step that holds the pass; *index becomes the pass's in it. */
static uint64_t walk(const struct pollux *p, struct plx_cursor *cursor,
		     int *index)
{
	uint64_t batch = p->step.batch;

	while (*index > p->batch.accum) {
		*index -= p->batch.accum + 1;
		plx_cursor_advance(cursor, batch);
		if (plx_cursor_finished(cursor))
			return 0;
		batch = plx_cursor_batch(cursor, plx_step_total(p));
	}
	return batch;
}

static const struct plx_sized passes = {
	.call = "pollux_peek()",
	.name = "pass",
	.first = PLX_UP_TO(pollux_pass, step),
	.now = sizeof(struct pollux_pass),
};

int pollux_peek_sized(struct pollux *p, int ahead, struct pollux_pass *pass,
		      size_t size)
{
	struct pollux_pass full;
	struct plx_cursor cursor;
	struct plx_range part;
	uint64_t ranks;
	uint64_t batch;
	int index;
	int rc = plx_given_output(p, &passes, pass, size);

	if (rc < 0)
		return rc;
	if (p->stage != PLX_STAGE_PASS || ahead < 0)
		return plx_misuse(p, "pollux_peek()");
	cursor = p->cursor;
	index = p->step.pass + ahead;
	batch = walk(p, &cursor, &index);
	if (!batch)
		return 0;
	ranks = (uint64_t) p->coll->ranks;
	part = plx_cursor_part(&cursor, batch,
			       (uint64_t) index * ranks +
				       (uint64_t) p->coll->rank,
			       ((uint64_t) p->batch.accum + 1) * ranks);
	if (allocate(p, part.count) < 0)
		return plx_end(p);
	for (uint64_t i = 0; i < part.count; i++)
		p->step.peeked[i] = plx_cursor_sample(&cursor, part.first + i);
	full = (struct pollux_pass){
		.samples = p->step.peeked,
		.count = part.count,
		.first = part.first,
		.sync = index == p->batch.accum,
		.index = index,
		.per_gpu = p->batch.per_gpu,
		.epoch = (int) cursor.epoch,
		.step = cursor.step,
	};
	plx_sized_fill(&passes, &full, pass, size);
	return 1;
}
