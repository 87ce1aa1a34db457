/* SPDX-License-Identifier: GPL-2.0-or-later */
/* node_arrays.c - what the jobs of a snapshot have on each node */

#include <string.h>

#include "common/node_gpus.h"
#include "sched/pollux/snapshot/node_arrays.h"
#include "sched/pollux/snapshot/elastic_alloc.h"

/* Those that no job has: zeros, for as many nodes each. */
static struct {
	int **arrays;
	int count;
	int size; /* that there is memory for */
	int node_count;
} idle;

static size_t _bytes(int node_count)
{
	return (size_t) MAX(node_count, 1) * sizeof(int);
}

/* There are more nodes now, or fewer. */
static void _forget(int node_count)
{
	while (idle.count > 0)
		xfree(idle.arrays[--idle.count]);
	idle.node_count = node_count;
}

void pollux_node_arrays_forget(void)
{
	_forget(0);
	xfree(idle.arrays);
	idle.size = 0;
}

static int *_take(int node_count)
{
	return idle.count > 0 ? idle.arrays[--idle.count]
			      : xmalloc(_bytes(node_count));
}

/* Room for so many more; there is memory for a power of two. */
static struct plx_node_alloc *_next(struct pollux_snapshot *snapshot, int count)
{
	int before = snapshot->elastic_alloc_count;
	int size = 1;

	while (size < before)
		size *= 2;
	if (!before || before + count > size) {
		while (size < before + count)
			size *= 2;
		xrecalloc(snapshot->elastic_allocs, size,
			  sizeof(*snapshot->elastic_allocs));
	}
	snapshot->elastic_alloc_count += count;
	return &snapshot->elastic_allocs[before];
}

/* One entry (one type of GPU) of the job's allocation. */
static void _add_gpus(const gres_job_state_t *entry, struct pollux_job *job,
		      struct plx_node_alloc *allocs)
{
	uint32_t count = MIN(entry->node_cnt, (uint32_t) job->alloc_count);

	for (uint32_t i = 0; entry->gres_cnt_node_alloc && i < count; i++) {
		allocs[i].has.gpus += (int) entry->gres_cnt_node_alloc[i];
		job->has_gpus += (int) entry->gres_cnt_node_alloc[i];
	}
}

static void _note_gpus(List list, struct pollux_job *job,
		       struct plx_node_alloc *allocs)
{
	uint32_t gpu = pollux_gpu_id();
	ListIterator iter = list ? list_iterator_create(list) : NULL;
	gres_state_t *state = NULL;

	while (iter && (state = list_next(iter))) {
		if (state->plugin_id == gpu)
			_add_gpus(state->gres_data, job, allocs);
	}
	if (iter)
		list_iterator_destroy(iter);
}

void pollux_node_arrays_note(struct pollux_snapshot *snapshot,
			     const job_record_t *record, struct pollux_job *job)
{
	const job_resources_t *has = record->job_resrcs;
	bitstr_t *nodes = has ? has->node_bitmap : NULL;
	struct plx_node_alloc *allocs = NULL;
	int count = snapshot->node_count;
	int i = 0;

	job->first_alloc = snapshot->elastic_alloc_count;
	job->alloc_count = nodes ? bit_set_count(nodes) : 0;
	job->has_gpus = 0;
	allocs = _next(snapshot, job->alloc_count);
	if (!job->alloc_count)
		return;
	for (int n = pollux_slurm_next_bit(nodes, 0, count);
	     n < count && i < job->alloc_count;
	     n = pollux_slurm_next_bit(nodes, n + 1, count), i++) {
		allocs[i] = (struct plx_node_alloc){ .node = n };
		if (has->cpus)
			allocs[i].has.cpus = has->cpus[i];
		if (has->cpus && has->memory_allocated)
			allocs[i].has.memory =
				(double) has->memory_allocated[i];
	}
	_note_gpus(record->gres_list_alloc, job, allocs);
}

void pollux_node_arrays_fill(struct pollux_snapshot *snapshot)
{
	int count = snapshot->job_count + snapshot->moldable_count;

	if (idle.node_count != snapshot->node_count)
		_forget(snapshot->node_count);
	for (int j = 0; j < count; j++) {
		struct pollux_job *job = &snapshot->jobs[j];
		const struct plx_node_alloc *allocs =
			pollux_job_allocs(snapshot, job);

		job->gpus = _take(snapshot->node_count);
		for (int i = 0; i < job->alloc_count; i++)
			job->gpus[allocs[i].node] = (int) allocs[i].has.gpus;
	}
}

static void _return(struct pollux_job *job, int node_count)
{
	int *gpus = job->gpus;

	job->gpus = NULL;
	if (!gpus)
		return;
	memset(gpus, 0, _bytes(node_count));
	if (idle.count == idle.size) {
		idle.size = MAX(2 * idle.size, 64);
		xrecalloc(idle.arrays, idle.size, sizeof(*idle.arrays));
	}
	idle.arrays[idle.count++] = gpus;
}

void pollux_node_arrays_return(struct pollux_snapshot *snapshot)
{
	int count = snapshot->job_count + snapshot->moldable_count;

	for (int j = 0; j < count; j++)
		_return(&snapshot->jobs[j], snapshot->node_count);
	xfree(snapshot->elastic_allocs);
}
