/* SPDX-License-Identifier: GPL-2.0-or-later */
/* quotas.c - MaxCPUsPerNode, which the jobs of a partition share */

#include "sched/pollux/look/quotas.h"

int pollux_quota_of(struct pollux_view *view, const part_record_t *part)
{
	struct pollux_quota *quota = NULL;

	if (!part || part->max_cpus_per_node == INFINITE ||
	    part->max_cpus_per_node == NO_VAL)
		return -1;
	for (int i = 0; i < view->quota_count; i++) {
		if (view->quotas[i].partition == part)
			return i;
	}
	xrecalloc(view->quotas, view->quota_count + 1, sizeof(*view->quotas));
	quota = &view->quotas[view->quota_count];
	quota->partition = part;
	quota->left = xcalloc(view->node_count + 1, sizeof(*quota->left));
	for (int n = 0; n < view->node_count; n++)
		quota->left[n] = (int) MIN(part->max_cpus_per_node, INT16_MAX);
	return view->quota_count++;
}

void pollux_quota_take(struct pollux_view *view, const job_record_t *job)
{
	const job_resources_t *held = job->job_resrcs;
	int i = pollux_quota_of(view, job->part_ptr);
	int offset = 0;

	if (i < 0 || !held->node_bitmap || !held->cpus)
		return;
	for (int n = 0; n < view->node_count; n++) {
		if (bit_test(held->node_bitmap, n))
			view->quotas[i].left[n] -= held->cpus[offset++];
	}
}
