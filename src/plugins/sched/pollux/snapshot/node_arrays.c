/* SPDX-License-Identifier: GPL-2.0-or-later */
/* node_arrays.c - what the jobs of a snapshot have on each node */

#include <string.h>

#include "common/slurm_compat.h"
#include "sched/pollux/snapshot/node_arrays.h"

/* Those that no job has: zeros, for as many nodes each. */
static struct {
	double **blocks;
	int count;
	int size; /* that there is memory for */
	int node_count;
} idle;

static size_t _bytes(int node_count)
{
	return (size_t) MAX(node_count, 1) * (sizeof(double) + 2 * sizeof(int));
}

/* There are more nodes now, or fewer. */
static void _forget(int node_count)
{
	while (idle.count > 0)
		xfree(idle.blocks[--idle.count]);
	idle.node_count = node_count;
}

void pollux_node_arrays_take(struct pollux_job *job, int node_count)
{
	if (idle.node_count != node_count)
		_forget(node_count);
	job->memory = idle.count > 0 ? idle.blocks[--idle.count]
				     : xmalloc(_bytes(node_count));
	job->gpus = (int *) (job->memory + node_count);
	job->cpus = job->gpus + node_count;
}

void pollux_node_arrays_return(struct pollux_job *job, int node_count)
{
	double *block = job->memory;

	job->memory = NULL;
	job->gpus = job->cpus = NULL;
	if (idle.node_count != node_count) {
		xfree(block);
		return;
	}
	memset(block, 0, _bytes(node_count));
	if (idle.count == idle.size) {
		idle.size = MAX(2 * idle.size, 64);
		xrecalloc(idle.blocks, idle.size, sizeof(*idle.blocks));
	}
	idle.blocks[idle.count++] = block;
}
