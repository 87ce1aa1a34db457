/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * cpu_limits.c - CPUs of nodes that some jobs share, and are not all there are
 */

#include "sched/pollux/snapshot/cpu_limits.h"

static struct pollux_cpu_limit *_add(struct pollux_snapshot *snapshot)
{
	struct pollux_cpu_limit *cpu_limit = NULL;

	xrecalloc(snapshot->cpu_limits, snapshot->cpu_limit_count + 1,
		  sizeof(*snapshot->cpu_limits));
	cpu_limit = &snapshot->cpu_limits[snapshot->cpu_limit_count++];
	cpu_limit->left =
		xcalloc(snapshot->node_count + 1, sizeof(*cpu_limit->left));
	return cpu_limit;
}

int pollux_cpu_limit_of(struct pollux_snapshot *snapshot,
			const part_record_t *part)
{
	struct pollux_cpu_limit *cpu_limit = NULL;

	if (!part || part->max_cpus_per_node == INFINITE ||
	    part->max_cpus_per_node == NO_VAL)
		return -1;
	for (int i = 0; i < snapshot->cpu_limit_count; i++) {
		if (snapshot->cpu_limits[i].partition == part)
			return i;
	}
	cpu_limit = _add(snapshot);
	cpu_limit->partition = part;
	for (int n = 0; n < snapshot->node_count; n++)
		cpu_limit->left[n] =
			(int) MIN(part->max_cpus_per_node, INT16_MAX);
	return snapshot->cpu_limit_count - 1;
}

void pollux_cpu_limit_take(struct pollux_snapshot *snapshot,
			   const job_record_t *job)
{
	const job_resources_t *held = job->job_resrcs;
	int i = pollux_cpu_limit_of(snapshot, job->part_ptr);
	int offset = 0;

	if (i < 0 || !held->node_bitmap || !held->cpus)
		return;
	for (int n = 0; n < snapshot->node_count; n++) {
		if (bit_test(held->node_bitmap, n))
			snapshot->cpu_limits[i].left[n] -= held->cpus[offset++];
	}
}

/* CPUs of the node's cores that are set from that bit on, and not barred. */
static int _unbarred(const struct pollux_cpu_limit *cpu_limit, int n,
		     bitstr_t *cores, int first)
{
	const node_record_t *node = node_record_table_ptr[n];
	int at = (int) cr_get_coremap_offset((uint32_t) n);
	int end = (int) bit_size(cpu_limit->barred);
	int count = 0;

	for (int c = 0; c < node->tot_cores; c++) {
		/* A node that came later is behind its end. */
		if ((at + c >= end || !bit_test(cpu_limit->barred, at + c)) &&
		    (!cores || bit_test(cores, first + c)))
			count++;
	}
	return count * MAX(node->tpc, 1);
}

static int _find_barred(const struct pollux_snapshot *snapshot,
			bitstr_t *barred)
{
	for (int i = 0; i < snapshot->cpu_limit_count; i++) {
		bitstr_t *known = snapshot->cpu_limits[i].barred;

		if (known && bit_equal(known, barred))
			return i;
	}
	return -1;
}

static int _add_barred(struct pollux_snapshot *snapshot, bitstr_t *barred)
{
	struct pollux_cpu_limit *cpu_limit = _add(snapshot);

	cpu_limit->barred = bit_copy(barred);
	for (int n = 0; n < snapshot->node_count; n++) {
		if (node_record_table_ptr[n])
			cpu_limit->left[n] = _unbarred(cpu_limit, n, NULL, 0);
	}
	return snapshot->cpu_limit_count - 1;
}

int pollux_cpu_limit_unreserved(struct pollux_snapshot *snapshot,
				pollux_barred_t *barred)
{
	bitstr_t *cores = barred->core_bitmap;
	int i = -1;

	if (cores && bit_ffs(cores) >= 0) {
		i = _find_barred(snapshot, cores);
		if (i < 0)
			i = _add_barred(snapshot, cores);
	}
	pollux_slurm_barred_release(barred);
	return i;
}

static void _take_cores(struct pollux_cpu_limit *cpu_limit,
			const job_record_t *job, int node_count)
{
	const job_resources_t *held = job->job_resrcs;
	bitstr_t *nodes = held->node_bitmap;
	int first = 0;

	if (!nodes || !held->core_bitmap)
		return;
	for (int n = pollux_slurm_next_bit(nodes, 0, node_count);
	     n < node_count;
	     n = pollux_slurm_next_bit(nodes, n + 1, node_count)) {
		cpu_limit->left[n] -=
			_unbarred(cpu_limit, n, held->core_bitmap, first);
		first += node_record_table_ptr[n]->tot_cores;
	}
}

void pollux_cpu_limits_settle(struct pollux_snapshot *snapshot,
			      job_record_t **holders, int count)
{
	for (int i = 0; i < snapshot->cpu_limit_count; i++) {
		struct pollux_cpu_limit *cpu_limit = &snapshot->cpu_limits[i];

		for (int j = 0; cpu_limit->barred && j < count; j++)
			_take_cores(cpu_limit, holders[j],
				    snapshot->node_count);
	}
}

void pollux_cpu_limits_release(struct pollux_snapshot *snapshot)
{
	for (int i = 0; i < snapshot->cpu_limit_count; i++) {
		bitstr_t *barred = snapshot->cpu_limits[i].barred;

		FREE_NULL_BITMAP(barred);
		xfree(snapshot->cpu_limits[i].left);
	}
	xfree(snapshot->cpu_limits);
}
