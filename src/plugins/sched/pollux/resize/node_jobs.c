/* SPDX-License-Identifier: GPL-2.0-or-later */
/* node_jobs.c - which jobs are on a node */

#include "sched/pollux/resize/node_jobs.h"

#define MORE 8 /* ids that room is made for at once */

struct on_node {
	uint32_t *ids;
	int count;
};

static struct on_node *nodes; /* [node_count], by their numbers */
static int node_count;

void pollux_node_jobs_forget(void)
{
	for (int n = 0; n < node_count; n++)
		xfree(nodes[n].ids);
	xfree(nodes);
	node_count = 0;
}

static void _add(struct on_node *on, uint32_t job_id)
{
	if (on->count % MORE == 0)
		xrecalloc(on->ids, on->count + MORE, sizeof(*on->ids));
	on->ids[on->count++] = job_id;
}

void pollux_node_jobs_add(const node_record_t *node, uint32_t job_id)
{
	struct on_node *on = NULL;

	if (node_count != node_record_count)
		return;
	on = &nodes[node->index];
	for (int i = 0; i < on->count; i++) {
		if (on->ids[i] == job_id)
			return;
	}
	_add(on, job_id);
}

static bool _runs(const job_record_t *job)
{
	return job && job->node_bitmap &&
	       (IS_JOB_RUNNING(job) || IS_JOB_SUSPENDED(job) ||
		IS_JOB_COMPLETING(job));
}

static bool _is_on(const job_record_t *job, int n)
{
	return _runs(job) && bit_test(job->node_bitmap, n);
}

/* One that completes is not counted any more where it has ended. */
static bool _is_counted(const job_record_t *job, int n)
{
	return !job->node_bitmap_cg || bit_test(job->node_bitmap_cg, n);
}

/* Leave those that are there. Are they all? */
static bool _keep_up(const node_record_t *node, struct on_node *on)
{
	int there = node->run_job_cnt + node->comp_job_cnt + node->sus_job_cnt;
	int n = (int) node->index;
	int counted = 0;
	int kept = 0;

	for (int i = 0; i < on->count; i++) {
		const job_record_t *job = find_job_record(on->ids[i]);

		if (!_is_on(job, n))
			continue;
		counted += _is_counted(job, n);
		on->ids[kept++] = on->ids[i];
	}
	on->count = kept;
	return counted == there;
}

static int _find_all(void *x, void *arg)
{
	const job_record_t *job = x;

	if (!_runs(job))
		return 0;
	for (int n = pollux_slurm_first_node(job->node_bitmap); n < node_count;
	     n = pollux_slurm_node_after(job->node_bitmap, n))
		_add(&nodes[n], job->job_id);
	return 0;
}

/* Those of all nodes: what takes long is to touch each job. */
static void _begin(void)
{
	pollux_node_jobs_forget();
	node_count = node_record_count;
	nodes = xcalloc(node_count + 1, sizeof(*nodes));
	list_for_each_ro(job_list, _find_all, NULL);
}

uint32_t *pollux_node_jobs(const node_record_t *node, uint32_t but_for,
			   int *count)
{
	struct on_node *on = NULL;
	uint32_t *others = NULL;

	if (node_count != node_record_count ||
	    !_keep_up(node, &nodes[node->index]))
		_begin();
	on = &nodes[node->index];
	*count = 0;
	if (on->count)
		others = xcalloc(on->count, sizeof(*others));
	for (int i = 0; i < on->count; i++) {
		if (on->ids[i] != but_for)
			others[(*count)++] = on->ids[i];
	}
	return others;
}
