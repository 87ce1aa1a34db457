/* SPDX-License-Identifier: GPL-2.0-or-later */
/* view.c - what is in slurmctld, copied under a read lock */

#include <string.h>

#include "common/elastic.h"
#include "sched/pollux/record.h"
#include "sched/pollux/start/requeue.h"
#include "sched/pollux/look/stays.h"
#include "sched/pollux/look/view.h"
#include "sched/pollux/look/waiting.h"

/* FNV-1a over bytes. */
static void _stir(uint64_t *print, const void *bytes, size_t size)
{
	const unsigned char *at = bytes;

	for (size_t i = 0; i < size; i++)
		*print = (*print ^ at[i]) * 0x100000001b3u;
}

static void _stir_number(uint64_t *print, uint64_t number)
{
	_stir(print, &number, sizeof(number));
}

static bool _usable(const node_record_t *node)
{
	return !IS_NODE_DOWN(node) && !IS_NODE_DRAIN(node) &&
	       !IS_NODE_FAIL(node) && !IS_NODE_NO_RESPOND(node) &&
	       !IS_NODE_FUTURE(node) && !IS_NODE_UNKNOWN(node) &&
	       !IS_NODE_MAINT(node) && !IS_NODE_POWERED_DOWN(node) &&
	       !IS_NODE_POWERING_DOWN(node) && !IS_NODE_POWERING_UP(node) &&
	       !(node->node_state & NODE_STATE_RES);
}

static void _fill_nodes(struct pollux_view *view)
{
	for (int n = 0; n < view->node_count; n++) {
		const node_record_t *record = node_record_table_ptr[n];
		struct pollux_node *node = &view->nodes[n];
		const gres_node_state_t *gpus = NULL;

		if (!record)
			continue; /* a hole left by a deleted node */
		gpus = pollux_node_gpus(record);
		node->name = xstrdup(record->name);
		node->usable = _usable(record);
		node->cpus = record->cpus_efctv;
		node->memory = (double) record->real_memory -
			       (double) record->mem_spec_limit;
		if (gpus) {
			node->gpus = (int) gpus->gres_cnt_avail;
			node->gpus_free = (int) gpus->gres_cnt_avail -
					  (int) gpus->gres_cnt_alloc;
		}
		if (node->gpus_free < 0)
			node->gpus_free = 0;
	}
}

/* CPUs and memory of the job on each node, added to these. */
static void _add_held(const job_record_t *record, int *cpus, double *memory,
		      int node_count)
{
	const job_resources_t *held = record->job_resrcs;
	int offset = 0;

	if (!held || !held->node_bitmap || !held->cpus)
		return;
	for (int n = 0; n < node_count; n++) {
		if (!bit_test(held->node_bitmap, n))
			continue;
		cpus[n] += held->cpus[offset];
		if (held->memory_allocated)
			memory[n] += (double) held->memory_allocated[offset];
		offset++;
	}
}

static bool _holds_resources(const job_record_t *record)
{
	return record->job_resrcs && record->node_bitmap &&
	       (IS_JOB_RUNNING(record) || IS_JOB_SUSPENDED(record));
}

static void _read_status(const job_record_t *record, struct pollux_job *job)
{
	struct plx_error err = { .text = "" };

	if (plx_status_read(record->comment, &job->status, &err) < 1) {
		memset(&job->status, 0, sizeof(job->status));
		job->status.launcher = PLX_WAKE_NONE;
		job->runs = false;
	}
	snprintf(job->complaint, sizeof(job->complaint), "%s", err.text);
	if (plx_target_read(record->system_comment, &job->target, NULL) < 0)
		memset(&job->target, 0, sizeof(job->target));
}

/* Nodes of its partition and not excluded by the user. */
static bool *_allowed(const job_record_t *record, int node_count)
{
	bool *allowed = xcalloc(node_count, sizeof(*allowed));
	bitstr_t *excluded = record->details->exc_node_bitmap;

	for (int n = 0; n < node_count; n++)
		allowed[n] = bit_test(record->part_ptr->node_bitmap, n) &&
			     !(excluded && bit_test(excluded, n));
	return allowed;
}

/* Can its request be written anew for another shape? */
static bool _plain(const job_record_t *record)
{
	return !record->het_job_id && record->details->whole_node == 0 &&
	       !record->resv_name && !record->burst_buffer;
}

static void _fill_job(job_record_t *record, const struct plx_options *options,
		      struct pollux_view *view)
{
	struct pollux_job *job = &view->jobs[view->job_count++];

	job->id = record->job_id;
	job->uid = record->user_id;
	job->options = *options;
	job->runs = pollux_record_runs(record) && _plain(record);
	_read_status(record, job);
	job->home = pollux_record_home(record, &job->status);
	job->runs = job->runs && job->home >= 0;
	job->priority = pollux_priority(record, record->part_ptr);
	job->ends_s = pollux_ends_s(record, view->now);
	job->age_s = view->now > record->start_time
			     ? view->now - record->start_time
			     : 0;
	job->shape = xstrdup(record->nodes);
	job->since = pollux_record_since(record);
	job->gpus = xcalloc(view->node_count, sizeof(*job->gpus));
	job->cpus = xcalloc(view->node_count, sizeof(*job->cpus));
	job->memory = xcalloc(view->node_count, sizeof(*job->memory));
	pollux_record_gpus(record, job->gpus);
	_add_held(record, job->cpus, job->memory, view->node_count);
	job->allowed = _allowed(record, view->node_count);
}

static void _fill_jobs(struct pollux_view *view)
{
	ListIterator iter = list_iterator_create(job_list);
	int *cpus = xcalloc(view->node_count, sizeof(*cpus));
	double *memory = xcalloc(view->node_count, sizeof(*memory));
	job_record_t *record = NULL;
	struct plx_options options;

	view->jobs = xcalloc(list_count(job_list), sizeof(*view->jobs));
	while ((record = list_next(iter))) {
		view->requeued += pollux_requeued(record);
		if (!_holds_resources(record))
			continue;
		_add_held(record, cpus, memory, view->node_count);
		if (record->details && record->part_ptr &&
		    record->part_ptr->node_bitmap &&
		    elastic_options(record->spank_job_env,
				    record->spank_job_env_size, &options,
				    NULL) == 1)
			_fill_job(record, &options, view);
	}
	list_iterator_destroy(iter);
	for (int n = 0; n < view->node_count; n++) {
		view->nodes[n].cpus_used = cpus[n];
		view->nodes[n].memory_used = memory[n];
	}
	xfree(cpus);
	xfree(memory);
}

/* What, when it changes, is worth a cycle before its time. */
static uint64_t _print(const struct pollux_view *view)
{
	uint64_t print = 0xcbf29ce484222325u;

	for (int n = 0; n < view->node_count; n++) {
		_stir_number(&print, view->nodes[n].usable);
		_stir_number(&print, (uint64_t) view->nodes[n].gpus_free);
	}
	for (int i = 0; i < view->job_count; i++) {
		const struct pollux_job *job = &view->jobs[i];

		_stir_number(&print, job->id);
		_stir_number(&print, job->runs);
		_stir_number(&print, job->target.serial);
		_stir_number(&print, job->target.state);
		_stir_number(&print, job->status.has_hint);
		_stir_number(&print, (uint64_t) job->status.hint.profiled.gpus);
	}
	for (int i = 0; i < view->waiting_count; i++) {
		_stir_number(&print, view->waiting[i].id);
		_stir_number(&print, view->waiting[i].priority);
	}
	return print;
}

struct pollux_view *pollux_view_create(void)
{
	slurmctld_lock_t lock = { .conf = READ_LOCK,
				  .job = READ_LOCK,
				  .node = READ_LOCK,
				  .part = READ_LOCK };
	struct pollux_view *view = xmalloc(sizeof(*view));

	lock_slurmctld(lock);
	view->now = time(NULL);
	view->node_count = node_record_count;
	view->counts_memory = slurm_conf.select_type_param & CR_MEMORY;
	view->nodes = xcalloc(view->node_count, sizeof(*view->nodes));
	_fill_nodes(view);
	_fill_jobs(view);
	pollux_waiting_fill(view);
	if (view->job_count && view->waiting_count)
		pollux_stays_fill(view);
	unlock_slurmctld(lock);
	view->print = _print(view);
	return view;
}

void pollux_view_destroy(struct pollux_view *view)
{
	if (!view)
		return;
	for (int n = 0; n < view->node_count; n++)
		xfree(view->nodes[n].name);
	for (int i = 0; i < view->job_count; i++) {
		xfree(view->jobs[i].shape);
		xfree(view->jobs[i].gpus);
		xfree(view->jobs[i].cpus);
		xfree(view->jobs[i].memory);
		xfree(view->jobs[i].allowed);
	}
	for (int i = 0; i < view->waiting_count; i++) {
		xfree(view->waiting[i].allowed);
		xfree(view->waiting[i].partition);
	}
	xfree(view->stays);
	xfree(view->nodes);
	xfree(view->jobs);
	xfree(view->waiting);
	xfree(view);
}

int pollux_view_gpus(const struct pollux_view *view, int j)
{
	int sum = 0;

	for (int n = 0; n < view->node_count; n++)
		sum += view->jobs[j].gpus[n];
	return sum;
}

bool pollux_view_same_nodes(const struct pollux_view *view)
{
	if (view->node_count != node_record_count)
		return false;
	for (int n = 0; n < view->node_count; n++) {
		const node_record_t *record = node_record_table_ptr[n];

		if (xstrcmp(record ? record->name : NULL, view->nodes[n].name))
			return false;
	}
	return true;
}
