/* SPDX-License-Identifier: GPL-2.0-or-later */
/* before.c - what a job had before a resize */

#include "sched/pollux/record.h"
#include "sched/pollux/resize/before.h"

void pollux_before_note(const job_record_t *job, struct pollux_before *before)
{
	int *gpus = xcalloc(node_record_count, sizeof(*gpus));
	int i = 0;

	pollux_before_release(before);
	pollux_record_gpus(job, gpus);
	before->node_count = node_record_count;
	before->count = bit_set_count(job->node_bitmap);
	before->nodes = xcalloc(before->count + 1, sizeof(*before->nodes));
	before->gpus = xcalloc(before->count + 1, sizeof(*before->gpus));
	for (int n = pollux_slurm_first_node(job->node_bitmap);
	     n < node_record_count;
	     n = pollux_slurm_node_after(job->node_bitmap, n)) {
		before->nodes[i] = n;
		before->gpus[i++] = gpus[n];
	}
	xfree(gpus);
}

int pollux_before_on(const struct pollux_before *before, int n)
{
	for (int i = 0; i < before->count && before->nodes[i] <= n; i++) {
		if (before->nodes[i] == n)
			return before->gpus[i];
	}
	return -1;
}

bool pollux_before_known(const struct pollux_before *before)
{
	return before->nodes && before->node_count == node_record_count;
}

int *pollux_before_gpus(const struct pollux_before *before)
{
	int *gpus = xcalloc(node_record_count, sizeof(*gpus));

	for (int n = 0; n < node_record_count; n++)
		gpus[n] = -1;
	for (int i = 0; pollux_before_known(before) && i < before->count; i++)
		gpus[before->nodes[i]] = before->gpus[i];
	return gpus;
}
