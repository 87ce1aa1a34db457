/* SPDX-License-Identifier: GPL-2.0-or-later */
/* rigid_allocs.c - what jobs hold that are not elastic, and until when */

#include <math.h>

#include "sched/pollux/snapshot/rigid_allocs.h"
#include "sched/pollux/record.h"

#define FOREVER_S (365.0 * 86400)

double pollux_ends_s(const job_record_t *job, time_t now)
{
	if (job->time_limit == INFINITE || !job->end_time)
		return FOREVER_S;
	return job->end_time > now ? (double) (job->end_time - now) : 0;
}

void pollux_job_ends(const job_record_t *record, time_t now,
		     struct pollux_job *job)
{
	bool none =
		record->time_limit == INFINITE || record->time_limit == NO_VAL;

	job->ends_s = pollux_ends_s(record, now);
	job->limit_s = none ? INFINITY : 60.0 * record->time_limit;
}

bool pollux_holds_rigid_alloc(const job_record_t *job)
{
	return (IS_JOB_RUNNING(job) || IS_JOB_SUSPENDED(job)) &&
	       job->job_resrcs && job->job_resrcs->node_bitmap &&
	       job->job_resrcs->cpus && job->node_bitmap;
}

/* NULL: there are too many already. */
static struct plx_node_alloc *_next(struct pollux_snapshot *snapshot)
{
	if (snapshot->alloc_count == POLLUX_RIGID_ALLOCS_MAX)
		return NULL;
	/* There is memory for a power of two. */
	if (!(snapshot->alloc_count & (snapshot->alloc_count - 1)))
		xrecalloc(snapshot->allocs, MAX(2 * snapshot->alloc_count, 1),
			  sizeof(*snapshot->allocs));
	return &snapshot->allocs[snapshot->alloc_count++];
}

static void _add_job(const job_record_t *job, int *gpus,
		     struct pollux_snapshot *snapshot)
{
	const job_resources_t *held = job->job_resrcs;
	struct plx_node_alloc *alloc = NULL;
	bitstr_t *nodes = held->node_bitmap;
	int count = snapshot->node_count;
	int offset = 0;

	pollux_record_gpus(job, gpus);
	for (int n = pollux_slurm_next_bit(nodes, 0, count); n < count;
	     n = pollux_slurm_next_bit(nodes, n + 1, count)) {
		alloc = _next(snapshot);
		if (!alloc)
			return;
		*alloc = (struct plx_node_alloc){
			.node = n,
			.has.gpus = gpus[n],
			.has.cpus = held->cpus[offset],
			.has.memory =
				held->memory_allocated
					? (double)
						  held->memory_allocated[offset]
					: 0,
			.ends_s = pollux_ends_s(job, snapshot->now),
		};
		offset++;
	}
}

/* Its GPUs are nobody's, and nobody's to have before the epilog is over. */
static void _add_closing(int n, struct pollux_snapshot *snapshot)
{
	const gres_node_state_t *gpus =
		pollux_node_gpus(node_record_table_ptr[n]);
	int left = gpus ? pollux_node_free(gpus, NULL) : 0;
	struct plx_node_alloc *alloc = left > 0 ? _next(snapshot) : NULL;

	if (alloc)
		*alloc = (struct plx_node_alloc){ .node = n,
						  .has.gpus = left,
						  .ends_s = POLLUX_EPILOG_S };
}

void pollux_rigid_allocs_fill(job_record_t **jobs, int count,
			      struct pollux_snapshot *snapshot)
{
	int *gpus = xcalloc(snapshot->node_count + 1, sizeof(*gpus));

	for (int i = 0; i < count; i++)
		_add_job(jobs[i], gpus, snapshot);
	for (int n = 0; n < snapshot->node_count; n++) {
		if (node_record_table_ptr[n] && snapshot->nodes[n].usable &&
		    bit_test(cg_node_bitmap, n))
			_add_closing(n, snapshot);
	}
	xfree(gpus);
}
