/* SPDX-License-Identifier: GPL-2.0-or-later */
/* overlap.c - old and new shape at once, for a job whose ranks train on */

#include "core/records/refusal.h"
#include "sched/pollux/asked.h"
#include "sched/pollux/look/moldable_jobs.h"
#include "sched/pollux/resize/overlap.h"
#include "sched/pollux/record.h"

/*
 * CPUs, and memory beyond what it has, go with what the job is to have; on a
 * node that it leaves, with no more GPUs than on any that it goes to.
 */
static void _be_lean(const struct pollux_shape *want, struct pollux_shape *lent)
{
	lent->gpus = PLX_GPUS_MAX;
	lent->lean = xcalloc(node_record_count, sizeof(*lent->lean));
	for (int n = 0; n < node_record_count; n++) {
		int wanted = pollux_shape_on(want, n);

		if (!bit_test(lent->nodes, n))
			continue;
		if (!wanted)
			wanted = want->gpus;
		lent->lean[n] = MIN(wanted, lent->counts[n]);
		if (lent->counts[n])
			lent->gpus = MIN(lent->gpus, lent->counts[n]);
	}
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
	_be_lean(want, lent);
	if (!gains)
		return POLLUX_LEND_NOTHING;
	return loses ? POLLUX_LEND_BOTH : POLLUX_LEND_NEW;
}

int pollux_lend_test(const job_record_t *job, const struct pollux_shape *lent,
		     struct plx_error *err)
{
	int gpus = pollux_shape_gpus(lent);
	int nodes = bit_set_count(lent->nodes);
	struct pollux_job bounds = { 0 };
	struct pollux_asked asked;

	if (pollux_asked(job, &asked) && asked.options.max_gpus &&
	    gpus > asked.options.max_gpus)
		return plx_fail_as(err, PLX_REFUSED_LIMITS,
				   "both shapes are %d GPUs, its max= is %d",
				   gpus, asked.options.max_gpus);
	pollux_view_bounds(job, &bounds);
	if (bounds.max_nodes && nodes > bounds.max_nodes)
		return plx_fail_as(err, PLX_REFUSED_LIMITS,
				   "both shapes are %d nodes, it may have %d",
				   nodes, bounds.max_nodes);
	return 0;
}
