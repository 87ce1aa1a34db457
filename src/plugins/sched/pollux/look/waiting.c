/* SPDX-License-Identifier: GPL-2.0-or-later */
/* waiting.c - which pending jobs wait for resources, and for how many */

#include <stdlib.h>

#include "sched/pollux/record.h"
#include "sched/pollux/look/waiting.h"

/*
 * Slurm's word for why it does not run. Jobs that wait for a dependency, a
 * limit or a person would not start even if there were room.
 */
static bool _wants_room(const job_record_t *job, time_t now)
{
	if (!IS_JOB_PENDING(job) || IS_JOB_COMPLETING(job) || !job->priority ||
	    !job->details || !job->part_ptr || !job->part_ptr->node_bitmap ||
	    job->het_job_id || job->resv_name)
		return false;
	if (job->details->begin_time > now)
		return false;
	return job->state_reason == WAIT_NO_REASON ||
	       job->state_reason == WAIT_RESOURCES ||
	       job->state_reason == WAIT_PRIORITY;
}

static int _ceil_div(uint64_t a, uint64_t b)
{
	return (int) ((a + b - 1) / b);
}

/* GPUs asked for on each of `nodes` nodes, in whatever form it was asked. */
static int _gpus_per_node(const job_record_t *job, int nodes)
{
	uint32_t gpu = pollux_gpu_id();
	gres_state_t *state = NULL;
	const gres_job_state_t *want = NULL;
	uint64_t tasks = job->details->num_tasks;
	int most = 0;

	if (job->gres_list_req)
		state = list_find_first(job->gres_list_req, gres_find_id, &gpu);
	if (!state)
		return 0;
	want = state->gres_data;
	if (!tasks || tasks == NO_VAL)
		tasks = (uint64_t) nodes;
	most = (int) want->gres_per_node;
	most = MAX(most, _ceil_div(want->gres_per_job, (uint64_t) nodes));
	most = MAX(most,
		   _ceil_div(want->gres_per_task * tasks, (uint64_t) nodes));
	return most;
}

static int _cpus_per_node(const job_record_t *job, int nodes)
{
	int cpus = _ceil_div(job->details->min_cpus, (uint64_t) nodes);

	return MAX(cpus, (int) job->details->pn_min_cpus);
}

/*
 * It may need more CPUs of a node than elastic jobs leave when they have all
 * GPUs but those it needs: count the excess as GPUs.
 */
static int _gpus_for_cpus(const struct pollux_view *view,
			  const struct pollux_waiting *waiting, int cpus)
{
	int gpus = 0;
	int most = 0;

	for (int n = 0; n < view->node_count; n++) {
		const struct pollux_node *node = &view->nodes[n];

		if (!waiting->allowed[n] || !node->gpus)
			continue;
		most = MAX(most, node->gpus);
		gpus = MAX(gpus, cpus - (node->cpus - node->gpus));
	}
	return MIN(gpus, most);
}

static void _fill(const job_record_t *job, const struct pollux_view *view,
		  struct pollux_waiting *waiting)
{
	const job_details_t *details = job->details;
	int largest = 1;
	int gpus = 0;

	for (int n = 0; n < view->node_count; n++)
		largest = MAX(largest, view->nodes[n].gpus);
	waiting->id = job->job_id;
	waiting->priority = job->priority;
	waiting->nodes = details->min_nodes > 0 && details->min_nodes < NO_VAL
				 ? (int) details->min_nodes
				 : 1;
	waiting->gpus_per_node = _gpus_per_node(job, waiting->nodes);
	if (waiting->gpus_per_node > largest) {
		waiting->nodes = _ceil_div((uint64_t) waiting->nodes *
						   waiting->gpus_per_node,
					   (uint64_t) largest);
		waiting->gpus_per_node = largest;
	}
	waiting->whole_nodes = details->whole_node == WHOLE_NODE_REQUIRED ||
			       job->part_ptr->max_share == 0;
	waiting->allowed = xcalloc(view->node_count, sizeof(bool));
	for (int n = 0; n < view->node_count; n++)
		waiting->allowed[n] =
			view->nodes[n].usable &&
			bit_test(job->part_ptr->node_bitmap, n) &&
			!(details->exc_node_bitmap &&
			  bit_test(details->exc_node_bitmap, n)) &&
			!(details->req_node_bitmap &&
			  bit_set_count(details->req_node_bitmap) >=
				  waiting->nodes &&
			  !bit_test(details->req_node_bitmap, n));
	gpus = _gpus_for_cpus(view, waiting,
			      _cpus_per_node(job, waiting->nodes));
	waiting->gpus_per_node = MAX(waiting->gpus_per_node, gpus);
}

/* Highest priority first, then the oldest. */
static int _by_priority(const void *a, const void *b)
{
	const job_record_t *x = *(job_record_t *const *) a;
	const job_record_t *y = *(job_record_t *const *) b;

	if (x->priority != y->priority)
		return x->priority > y->priority ? -1 : 1;
	return x->job_id < y->job_id ? -1 : x->job_id > y->job_id;
}

void pollux_waiting_fill(struct pollux_view *view)
{
	ListIterator iter = list_iterator_create(job_list);
	job_record_t **jobs = xcalloc(list_count(job_list) + 1, sizeof(*jobs));
	job_record_t *job = NULL;
	int count = 0;

	while ((job = list_next(iter))) {
		if (_wants_room(job, view->now))
			jobs[count++] = job;
	}
	list_iterator_destroy(iter);
	qsort(jobs, (size_t) count, sizeof(*jobs), _by_priority);
	count = MIN(count, POLLUX_PENDING_MAX);
	view->waiting = xcalloc(count + 1, sizeof(*view->waiting));
	for (int i = 0; i < count; i++)
		_fill(jobs[i], view, &view->waiting[i]);
	view->waiting_count = count;
	xfree(jobs);
}
