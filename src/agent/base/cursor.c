/* SPDX-License-Identifier: MIT */
/* cursor.c - where a training is in its data */
#include <config.h>

#include <assert.h>

#include "agent/base/cursor.h"
#include "core/base/permute.h"

bool plx_cursor_finished(const struct plx_cursor *cursor)
{
	return cursor->epoch >= cursor->epochs;
}

uint64_t plx_cursor_batch(const struct plx_cursor *cursor, uint64_t total_batch)
{
	uint64_t left = cursor->samples - cursor->position;

	if (left <= total_batch)
		return left;
	/* Of two samples the mean gradient is noise, and momentum keeps it. */
	if (left < 2 * total_batch && cursor->samples >= 2 * total_batch)
		return left - left / 2;
	return total_batch;
}

/* batch * part / parts without overflow: batch and parts are below 2^32. */
static uint64_t bound(uint64_t batch, uint64_t part, uint64_t parts)
{
	return batch / parts * part + batch % parts * part / parts;
}

struct plx_range plx_cursor_part(const struct plx_cursor *cursor,
				 uint64_t batch, uint64_t part, uint64_t parts)
{
	uint64_t begin;
	uint64_t end;

	assert(parts > 0 && part < parts);
	begin = bound(batch, part, parts);
	end = bound(batch, part + 1, parts);
	return (struct plx_range){
		.first = cursor->position + begin,
		.count = end - begin,
	};
}

uint64_t plx_cursor_sample(const struct plx_cursor *cursor, uint64_t position)
{
	const struct plx_order order = {
		.seed = cursor->seed,
		.epoch = cursor->epoch,
		.count = cursor->samples,
	};

	return cursor->sequential ? position : plx_order_at(&order, position);
}

void plx_cursor_advance(struct plx_cursor *cursor, uint64_t batch)
{
	cursor->step++;
	cursor->position += batch;
	assert(cursor->position <= cursor->samples);
	if (cursor->position == cursor->samples) {
		cursor->position = 0;
		cursor->epoch++;
	}
}

uint64_t plx_cursor_used(const struct plx_cursor *cursor)
{
	return cursor->epoch * cursor->samples + cursor->position;
}

double plx_cursor_progress(const struct plx_cursor *cursor)
{
	double all = (double) cursor->epochs * (double) cursor->samples;

	return all > 0 ? (double) plx_cursor_used(cursor) / all : 1.0;
}
