/* SPDX-License-Identifier: GPL-2.0-or-later */
/* lend.c - old and new shape at once, for a job whose ranks train on */

#include "sched/pollux/resize/lend.h"
#include "sched/pollux/record.h"

/*
 * The request is for so many on each node, and CPUs go with it: as many as
 * the job is to have, unless a node that it leaves has less.
 */
static int _least(const struct pollux_shape *lent, int wanted)
{
	int least = wanted;

	for (int n = 0; n < node_record_count; n++) {
		if (bit_test(lent->nodes, n) && lent->counts[n] < least)
			least = lent->counts[n];
	}
	return least;
}

enum pollux_lending pollux_lend(const job_record_t *job,
				const struct pollux_shape *want,
				struct pollux_shape *lent)
{
	bool gains = false;
	bool loses = false;

	*lent = (struct pollux_shape){
		.nodes = bit_copy(want->nodes),
		.counts = xcalloc(node_record_count, sizeof(*lent->counts)),
	};
	pollux_record_gpus(job, lent->counts);
	for (int n = 0; n < node_record_count; n++) {
		int wanted = pollux_shape_on(want, n);

		gains = gains || wanted > lent->counts[n];
		loses = loses || wanted < lent->counts[n] ||
			(bit_test(job->node_bitmap, n) &&
			 !bit_test(want->nodes, n));
		if (wanted > lent->counts[n])
			lent->counts[n] = wanted;
		if (lent->counts[n] || bit_test(job->node_bitmap, n))
			bit_set(lent->nodes, n);
	}
	lent->gpus = _least(lent, want->gpus);
	if (!gains)
		return POLLUX_LEND_NOTHING;
	return loses ? POLLUX_LEND_BOTH : POLLUX_LEND_NEW;
}
