/* SPDX-License-Identifier: GPL-2.0-or-later */
/* spread.c - the shapes in which an elastic job that waits may start */

#include "sched/pollux/plan/spread.h"

/* Nodes it is allowed that have so many GPUs, however they are used. */
static int nodes_with(const struct pollux_snapshot *snapshot,
		      const struct pollux_waiting *waiting, int gpus)
{
	int nodes = 0;

	for (int n = 0; n < snapshot->node_count; n++)
		nodes += waiting->allowed[n] && snapshot->nodes[n].gpus >= gpus;
	return nodes;
}

/* As much of each node as goes with the shape's GPUs. */
static struct pollux_waiting shaped(const struct pollux_waiting *waiting,
				    int nodes, int gpus)
{
	struct pollux_waiting shape = *waiting;

	shape.nodes = nodes;
	shape.each = plx_resources_part(&waiting->each, gpus);
	if (shape.each.memory < waiting->spread.memory)
		shape.each.memory = waiting->spread.memory;
	return shape;
}

int pollux_spreads(const struct pollux_snapshot *snapshot,
		   const struct pollux_waiting *waiting,
		   struct pollux_waiting *shapes, int max)
{
	const struct pollux_spread *spread = &waiting->spread;
	int before = (int) waiting->each.gpus;
	int count = 0;

	if (!spread->least || waiting->ignored || waiting->blocked)
		return 0;
	for (int n = waiting->nodes + 1;
	     n <= spread->high && n <= snapshot->node_count && before > 1 &&
	     count < max;
	     n++) {
		int gpus = (spread->least + n - 1) / n;

		if (n < spread->low || gpus >= before ||
		    gpus * n > spread->most ||
		    !plx_sizes_allow(&spread->sizes, gpus * n))
			continue;
		before = gpus;
		if (nodes_with(snapshot, waiting, gpus) >= n)
			shapes[count++] = shaped(waiting, n, gpus);
	}
	return count;
}

void pollux_spread_open(const struct pollux_snapshot *snapshot,
			const struct plx_problem *problem,
			const struct pollux_waiting *shape, bool only_idle,
			bool *open)
{
	for (int n = 0; n < snapshot->node_count; n++)
		open[n] = shape->allowed[n];
	for (int j = 0; problem->interference && j < problem->job_count; j++) {
		if (plx_shape_of(problem->jobs[j].now, problem->node_count)
			    .nodes < 2)
			continue;
		for (int n = 0; n < snapshot->node_count; n++) {
			/* It leaves a node of which nothing remains for it. */
			if (problem->jobs[j].now[n] > 0 &&
			    (only_idle || shape->each.gpus < problem->gpus[n]))
				open[n] = false;
		}
	}
}
