/* SPDX-License-Identifier: GPL-2.0-or-later */
/* overlap.c - old and new shape at once, for a job whose ranks train on */

#include "core/records/refusal.h"
#include "sched/pollux/job_options.h"
#include "sched/pollux/snapshot/snapshot_fill.h"
#include "sched/pollux/resize/overlap.h"
#include "sched/pollux/record.h"

/*
 * CPUs, and memory beyond what it has, go with what the job is to have; on a
 * node that it leaves, with no more GPUs than on any that it goes to.
 */
static void _be_lean(const struct pollux_shape *want,
		     struct pollux_shape *overlap)
{
	overlap->gpus = PLX_GPUS_MAX;
	overlap->lean = xcalloc(node_record_count, sizeof(*overlap->lean));
	for (int n = pollux_slurm_first_node(overlap->nodes);
	     n < node_record_count;
	     n = pollux_slurm_node_after(overlap->nodes, n)) {
		int wanted = pollux_shape_on(want, n);

		if (!wanted)
			wanted = want->gpus;
		overlap->lean[n] = MIN(wanted, overlap->counts[n]);
		if (overlap->counts[n])
			overlap->gpus = MIN(overlap->gpus, overlap->counts[n]);
	}
}

enum pollux_overlap_kind pollux_overlap(const job_record_t *job,
					const struct pollux_shape *want,
					struct pollux_shape *overlap)
{
	bitstr_t *either = bit_copy(want->nodes);
	bool gains = false;
	bool loses = false;

	*overlap = (struct pollux_shape){
		.nodes = bit_copy(want->nodes),
		.counts = xcalloc(node_record_count, sizeof(*overlap->counts)),
	};
	pollux_record_gpus(job, overlap->counts);
	bit_or(either, job->node_bitmap);
	bit_or(either, job->job_resrcs->node_bitmap);
	for (int n = pollux_slurm_first_node(either); n < node_record_count;
	     n = pollux_slurm_node_after(either, n)) {
		int wanted = pollux_shape_on(want, n);

		gains = gains || wanted > overlap->counts[n];
		loses = loses || wanted < overlap->counts[n] ||
			(bit_test(job->node_bitmap, n) &&
			 !bit_test(want->nodes, n));
		if (wanted > overlap->counts[n])
			overlap->counts[n] = wanted;
		if (overlap->counts[n] || bit_test(job->node_bitmap, n))
			bit_set(overlap->nodes, n);
	}
	FREE_NULL_BITMAP(either);
	_be_lean(want, overlap);
	if (!gains)
		return POLLUX_OVERLAP_NONE;
	return loses ? POLLUX_OVERLAP_BOTH : POLLUX_OVERLAP_NEW;
}

int pollux_overlap_test(const job_record_t *job,
			const struct pollux_shape *overlap,
			struct plx_error *err)
{
	int gpus = pollux_shape_gpus(overlap);
	int nodes = bit_set_count(overlap->nodes);
	struct pollux_job range = { 0 };
	struct pollux_job_options asked;

	if (pollux_job_options(job, &asked) && asked.options.max_gpus &&
	    gpus > asked.options.max_gpus)
		return plx_fail_as(err, PLX_REFUSED_LIMITS,
				   "both shapes are %d GPUs, its max= is %d",
				   gpus, asked.options.max_gpus);
	pollux_snapshot_node_range(job, &asked, &range);
	if (range.max_nodes && nodes > range.max_nodes)
		return plx_fail_as(err, PLX_REFUSED_LIMITS,
				   "both shapes are %d nodes, it may have %d",
				   nodes, range.max_nodes);
	return 0;
}
