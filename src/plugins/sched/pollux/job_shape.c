/* SPDX-License-Identifier: GPL-2.0-or-later */
/* job_shape.c - the nodes and GPUs that a job has, or is to have */

#include "sched/pollux/job_shape.h"

struct pollux_shape pollux_shape_of(const int *gpus, int node_count,
				    int batch_host)
{
	struct pollux_shape shape = { .nodes = bit_alloc(node_count) };
	bool differ = false;

	for (int n = 0; n < node_count; n++) {
		if (gpus[n] <= 0)
			continue;
		differ = differ || (shape.gpus && shape.gpus != gpus[n]);
		if (!shape.gpus || gpus[n] < shape.gpus)
			shape.gpus = gpus[n];
		bit_set(shape.nodes, n);
	}
	if (!shape.gpus)
		bit_set(shape.nodes, batch_host);
	if (differ) {
		shape.counts = xcalloc(node_count, sizeof(*shape.counts));
		for (int n = 0; n < node_count; n++)
			shape.counts[n] = MAX(gpus[n], 0);
	}
	return shape;
}

int pollux_shape_gpus(const struct pollux_shape *shape)
{
	int sum = 0;

	for (int n = pollux_slurm_first_node(shape->nodes);
	     n < node_record_count;
	     n = pollux_slurm_node_after(shape->nodes, n))
		sum += pollux_shape_on(shape, n);
	return sum;
}

int pollux_shape_on(const struct pollux_shape *shape, int n)
{
	if (!bit_test(shape->nodes, n))
		return 0;
	return shape->counts ? shape->counts[n] : shape->gpus;
}

int pollux_shape_cpus_for(const struct pollux_shape *shape, int n)
{
	return shape->lean ? shape->lean[n] : pollux_shape_on(shape, n);
}

void pollux_shape_level(struct pollux_shape *shape,
			const struct plx_sizes *sizes)
{
	int *gpus = NULL;
	int best = 0;
	int nodes = 0;

	if (!shape->counts)
		return;
	gpus = xcalloc(node_record_count, sizeof(*gpus));
	for (int n = 0; n < node_record_count; n++)
		gpus[n] = pollux_shape_on(shape, n);
	best = plx_sizes_level(sizes, gpus, node_record_count, &nodes);
	for (int n = 0; n < node_record_count; n++) {
		if (!best || gpus[n] < best || nodes-- <= 0)
			bit_clear(shape->nodes, n);
	}
	shape->gpus = best;
	xfree(shape->counts);
	xfree(gpus);
}

void pollux_shape_release(struct pollux_shape *shape)
{
	xfree(shape->lean);
	FREE_NULL_BITMAP(shape->nodes);
	xfree(shape->counts);
}
