/* SPDX-License-Identifier: MIT */
/* sim_timeline.c - who had what when, for pictures */

#include <stdlib.h>

#include "sim/sim_timeline.h"

int plx_timeline_init(struct plx_sim_timeline *timeline, int jobs,
		      double tick_s, struct plx_error *err)
{
	struct plx_sim_timeline made = { .tick_s = tick_s };

	made.open = calloc((size_t) jobs, sizeof(*made.open));
	made.ticks = calloc(PLX_TICKS_MAX, sizeof(*made.ticks));
	if (!made.open || !made.ticks) {
		plx_timeline_release(&made);
		return plx_fail(err, "no memory for a timeline of %d jobs",
				jobs);
	}
	for (int j = 0; j < jobs; j++)
		made.open[j] = -1;
	*timeline = made;
	return 0;
}

void plx_timeline_release(struct plx_sim_timeline *timeline)
{
	free(timeline->spans);
	free(timeline->open);
	free(timeline->ticks);
	*timeline = (struct plx_sim_timeline){ 0 };
}

static int grow(struct plx_sim_timeline *timeline, struct plx_error *err)
{
	int capacity =
		timeline->span_capacity ? 2 * timeline->span_capacity : 256;
	struct plx_sim_span *more =
		realloc(timeline->spans, (size_t) capacity * sizeof(*more));

	if (!more)
		return plx_fail(err, "no memory for %d spans", capacity);
	timeline->spans = more;
	timeline->span_capacity = capacity;
	return 0;
}

int plx_timeline_place(struct plx_sim_timeline *timeline,
		       struct plx_sim_span span, struct plx_error *err)
{
	int *open = &timeline->open[span.job];

	if (*open >= 0)
		timeline->spans[*open].end_s = span.begin_s;
	*open = -1;
	if (span.gpus == 0)
		return 0;
	if (timeline->span_count == timeline->span_capacity &&
	    grow(timeline, err) < 0)
		return -1;
	*open = timeline->span_count;
	span.end_s = span.begin_s;
	timeline->spans[timeline->span_count++] = span;
	return 0;
}

void plx_tick_sum(struct plx_tick *to, const struct plx_tick *from)
{
	to->seconds += from->seconds;
	to->gpu_s += from->gpu_s;
	to->trained_s += from->trained_s;
	to->efficiency_s += from->efficiency_s;
	to->useful_s += from->useful_s;
	to->active_s += from->active_s;
	to->waiting_s += from->waiting_s;
	to->node_s += from->node_s;
}

/* Two become one. */
static void halve(struct plx_sim_timeline *timeline)
{
	struct plx_tick *ticks = timeline->ticks;

	for (int i = 0; i < PLX_TICKS_MAX / 2; i++) {
		struct plx_tick both = ticks[2 * i];

		plx_tick_sum(&both, &ticks[2 * i + 1]);
		ticks[i] = both;
	}
	timeline->tick_count = PLX_TICKS_MAX / 2;
	timeline->tick_s *= 2;
}

void plx_timeline_add(struct plx_sim_timeline *timeline,
		      const struct plx_tick *tick)
{
	struct plx_tick *last = &timeline->ticks[timeline->tick_count - 1];

	/* Lengths are sums of equal intervals: half of one is tolerance. */
	if (timeline->tick_count > 0 &&
	    last->seconds + tick->seconds / 2 < timeline->tick_s) {
		plx_tick_sum(last, tick);
		return;
	}
	if (timeline->tick_count == PLX_TICKS_MAX) {
		halve(timeline);
		plx_timeline_add(timeline, tick);
		return;
	}
	timeline->ticks[timeline->tick_count++] = *tick;
}
