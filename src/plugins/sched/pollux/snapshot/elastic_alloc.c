/* SPDX-License-Identifier: GPL-2.0-or-later */
/* elastic_alloc.c - what the elastic jobs of a snapshot have of their nodes */

#include "sched/pollux/snapshot/elastic_alloc.h"

struct plx_node_alloc pollux_job_alloc_on(
	const struct pollux_snapshot *snapshot, const struct pollux_job *job,
	int n)
{
	const struct plx_node_alloc *allocs = pollux_job_allocs(snapshot, job);
	int low = 0;
	int high = job->alloc_count;

	while (low < high) {
		int middle = low + (high - low) / 2;

		if (allocs[middle].node < n)
			low = middle + 1;
		else
			high = middle;
	}
	if (low < job->alloc_count && allocs[low].node == n)
		return allocs[low];
	return (struct plx_node_alloc){ .node = n };
}
