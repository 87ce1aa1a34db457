/* SPDX-License-Identifier: GPL-2.0-or-later */
/* await.c - nodes that a waiting job is promised, and that come free */

#include <math.h>

#include "common/gpus.h"
#include "common/node_gpus.h"
#include "sched/pollux/start/await.h"

/* The thread's own. */
static struct {
	bitstr_t *nodes; /* NULL: none */
	bitstr_t *freed; /* of these, so far; NULL: none */
	int *free;	 /* [bit_size(nodes)] GPUs in the last cycle */
	bool before;	 /* some were freed before that one, too */
} watched;

void pollux_await_forget(void)
{
	FREE_NULL_BITMAP(watched.nodes);
	FREE_NULL_BITMAP(watched.freed);
	xfree(watched.free);
}

bool pollux_await_any(void)
{
	return watched.nodes != NULL;
}

bool pollux_await_freed_any(void)
{
	return watched.freed && !watched.before;
}

bool pollux_await_freed_now(void)
{
	return watched.freed != NULL;
}

/* Nodes where an elastic job is; the caller's. */
static bool *_elastic(const struct pollux_snapshot *snapshot)
{
	bool *elastic = xcalloc(snapshot->node_count + 1, sizeof(*elastic));

	for (int j = 0; j < snapshot->job_count; j++) {
		const struct pollux_job *job = &snapshot->jobs[j];

		for (int n = 0; n < snapshot->node_count; n++)
			elastic[n] = elastic[n] || job->gpus[n] > 0 ||
				     job->batch_host == n;
	}
	return elastic;
}

/* Has it to wait for elastic jobs, too? */
static bool _is_awaited(const struct pollux_snapshot *snapshot,
			const struct plx_grant *grant, const bool *elastic)
{
	if (grant->granted || !isfinite(grant->starts_s))
		return false;
	for (int n = 0; n < snapshot->node_count; n++) {
		if (grant->promised[n] && elastic[n])
			return true;
	}
	return false;
}

static void _watch(const struct pollux_snapshot *snapshot, const bool *promised)
{
	if (!watched.nodes)
		watched.nodes = bit_alloc(snapshot->node_count);
	for (int n = 0; n < snapshot->node_count; n++) {
		if (promised[n])
			bit_set(watched.nodes, n);
	}
}

void pollux_await_note(const struct pollux_snapshot *snapshot,
		       const struct plx_grant *grants)
{
	bool *elastic = _elastic(snapshot);

	watched.before = watched.freed != NULL;
	pollux_await_forget();
	for (int i = 0; i < snapshot->waiting_count; i++) {
		if (_is_awaited(snapshot, &grants[i], elastic))
			_watch(snapshot, grants[i].promised);
	}
	xfree(elastic);
	if (!watched.nodes)
		return;
	watched.free = xcalloc(snapshot->node_count, sizeof(*watched.free));
	for (int n = 0; n < snapshot->node_count; n++)
		watched.free[n] = snapshot->nodes[n].left.gpus;
}

/* A node that a job leaves had none, for the cycle. */
static bool _is_freed(int n)
{
	const node_record_t *node = node_record_table_ptr[n];
	const gres_node_state_t *gpus = node ? pollux_node_gpus(node) : NULL;

	return gpus && pollux_node_free(gpus, NULL) > watched.free[n];
}

bitstr_t *pollux_await_freed(void)
{
	if (!watched.nodes || bit_size(watched.nodes) != node_record_count)
		return NULL;
	for (int n = 0; n < node_record_count; n++) {
		if (!bit_test(watched.nodes, n) || !_is_freed(n))
			continue;
		if (!watched.freed)
			watched.freed = bit_alloc(node_record_count);
		bit_set(watched.freed, n);
	}
	return watched.freed;
}
