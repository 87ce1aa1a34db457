/* SPDX-License-Identifier: GPL-2.0-or-later */
/* promises.c - see promises.h */

#include "sched/pollux/plan/promises.h"

/* GPUs of node n that job j is to gain. */
static int promised(const struct pollux_snapshot *snapshot,
		    const struct pollux_job_input *inputs, int j, int n)
{
	int more = 0;

	if (inputs[j].busy)
		more = inputs[j].target[n] - snapshot->jobs[j].gpus[n];
	return more > 0 ? more : 0;
}

/* GPUs of node n that jobs are to gain, and nobody gives up or leaves free. */
static int missing(const struct pollux_snapshot *snapshot,
		   const struct pollux_job_input *inputs, int n)
{
	int more = 0;

	for (int j = 0; j < snapshot->job_count; j++) {
		if (inputs[j].busy)
			more += inputs[j].target[n] - snapshot->jobs[j].gpus[n];
	}
	return more - snapshot->nodes[n].left.gpus;
}

void pollux_promises_keep(const struct pollux_snapshot *snapshot,
			  struct pollux_job_input *inputs)
{
	for (int n = 0; n < snapshot->node_count; n++) {
		int over = missing(snapshot, inputs, n);

		for (int j = snapshot->job_count - 1; j >= 0 && over > 0; j--) {
			int less = promised(snapshot, inputs, j, n);

			if (less > over)
				less = over;
			if (less > 0)
				inputs[j].target[n] -= less;
			over -= less;
		}
	}
}
