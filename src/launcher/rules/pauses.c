/* SPDX-License-Identifier: GPL-2.0-or-later */
/* pauses.c - how long training stood still for a resize, and why */

#include <stdlib.h>
#include <string.h>

#include "launcher/rules/pauses.h"

const char *plx_part_name(enum plx_pause_part part)
{
	static const char *const names[] = {
		[PLX_PART_OVERLAP] = "lend_s",
		[PLX_PART_WARM] = "warm_s",
		[PLX_PART_STOP] = "stop_s",
		[PLX_PART_SAVE] = "save_s",
		[PLX_PART_LEAVE] = "leave_s",
		[PLX_PART_ACK] = "ack_s",
		[PLX_PART_RESIZE] = "resize_s",
		[PLX_PART_START] = "start_s",
		[PLX_PART_GO] = "go_s",
		[PLX_PART_FIRST_STEP] = "first_step_s",
	};

	return names[part];
}

static double between(double from_s, double to_s)
{
	return from_s && to_s > from_s ? to_s - from_s : 0;
}

struct plx_pause plx_pause_of(const struct plx_marks *marks)
{
	/* A job that was parked begins with the answer. */
	double begin_s = marks->last_s ? marks->last_s : marks->answered_s;
	const struct {
		enum plx_pause_part part;
		double end_s;
	} parts[] = {
		{ PLX_PART_SAVE, marks->saved_s },
		{ PLX_PART_LEAVE, marks->left_s },
		{ PLX_PART_ACK, marks->acked_s },
		{ PLX_PART_RESIZE, marks->answered_s },
		{ PLX_PART_START, marks->hello_s },
		{ PLX_PART_GO, marks->go_s },
		{ PLX_PART_FIRST_STEP, marks->first_s },
	};
	struct plx_pause pause = { 0 };
	double at_s;

	if (!begin_s)
		begin_s = marks->started_s;
	pause.part_s[PLX_PART_STOP] = between(marks->asked_s, marks->last_s);
	pause.part_s[PLX_PART_OVERLAP] =
		between(marks->offered_s, marks->answered_s);
	pause.part_s[PLX_PART_WARM] =
		between(marks->ready_s ? marks->started_s : 0, marks->ready_s);
	at_s = begin_s;
	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
		if (parts[i].end_s <= at_s)
			continue;
		pause.part_s[parts[i].part] = parts[i].end_s - at_s;
		at_s = parts[i].end_s;
	}
	pause.total_s = at_s - begin_s;
	return pause;
}

int plx_pauses_add(struct plx_pauses *pauses, double total_s,
		   struct plx_error *err)
{
	size_t size = ((size_t) pauses->count + 1) * sizeof(total_s);
	double *all = realloc(pauses->total_s, size);
	int at = pauses->count;

	if (!all)
		return plx_fail(err, "out of memory");
	while (at > 0 && all[at - 1] > total_s) {
		all[at] = all[at - 1];
		at--;
	}
	all[at] = total_s;
	pauses->total_s = all;
	pauses->count++;
	return 0;
}

double plx_pauses_median(const struct plx_pauses *pauses)
{
	int half = pauses->count / 2;

	if (!pauses->count)
		return 0;
	if (pauses->count % 2)
		return pauses->total_s[half];
	return (pauses->total_s[half - 1] + pauses->total_s[half]) / 2;
}

double plx_pauses_worst(const struct plx_pauses *pauses)
{
	return pauses->count ? pauses->total_s[pauses->count - 1] : 0;
}

void plx_pauses_release(struct plx_pauses *pauses)
{
	free(pauses->total_s);
	*pauses = (struct plx_pauses){ 0 };
}
