/* SPDX-License-Identifier: GPL-2.0-or-later */
/* leave.c - whole jobs that leave the node of their batch script */

#include <stdio.h>

#include "sched/pollux/plan/leave.h"

enum pollux_leave pollux_leave_of(const struct pollux_snapshot *snapshot,
				  const struct plx_problem *problem, int j,
				  const struct plx_choice *choice)
{
	int batch_host = snapshot->jobs[j].batch_host;
	const struct plx_job *job = &problem->jobs[j];

	/* Parked, it would keep a whole node. */
	if (snapshot->jobs[j].whole_gpus && batch_host >= 0 &&
	    !choice->shape.gpus)
		return job->fixed ? POLLUX_LEAVE_NOT : POLLUX_LEAVE_QUEUES;
	if (batch_host < 0 || choice->gpus[batch_host] > 0 ||
	    job->batch_host >= 0)
		return POLLUX_LEAVE_NOT;
	if (choice->shape.gpus > 0)
		return POLLUX_LEAVE_MOVES;
	return job->fixed ? POLLUX_LEAVE_NOT : POLLUX_LEAVE_QUEUES;
}

/* Who has got the node; 0: nobody. */
static unsigned int heir(const struct pollux_snapshot *snapshot,
			 const struct plx_grant *grants, int n)
{
	for (int i = 0; i < snapshot->waiting_count; i++) {
		if (grants[i].granted && grants[i].displaces &&
		    snapshot->waiting[i].clears && grants[i].nodes[n])
			return snapshot->waiting[i].id;
	}
	return 0;
}

void pollux_leave_why(const struct pollux_snapshot *snapshot,
		      const struct plx_grant *grants, int j,
		      enum pollux_leave leave, const struct plx_choice *choice,
		      char *why, size_t size)
{
	int batch_host = snapshot->jobs[j].batch_host;
	const struct pollux_node *node = &snapshot->nodes[batch_host];
	const char *then = leave == POLLUX_LEAVE_QUEUES
				   ? "no other place, waits in the queue"
				   : choice->why;
	unsigned int id = heir(snapshot, grants, batch_host);

	if (node->leave)
		snprintf(why, size, "leaves %.64s, which is drained: %s",
			 node->name, then);
	else if (id)
		snprintf(why, size, "leaves %.64s to job %u: %s", node->name,
			 id, then);
	else
		snprintf(why, size, "leaves %.64s: %s", node->name, then);
}
