/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * gres_alloc.c - which devices a job gets; in and out of Slurm's select plugin
 */

#include <string.h>

#include "core/records/refusal.h"
#include "sched/pollux/resize/core_alloc.h"
#include "sched/pollux/resize/gres_alloc.h"
#include "sched/pollux/resize/node_devices.h"
#include "sched/pollux/kept_types.h"
#include "sched/pollux/record.h"
#include "sched/pollux/job_state.h"

/*
 * Add the devices of one entry (one type of GPU): a bitmap a node of the job.
 */
static void _add_devices(const job_record_t *job, bitstr_t **alloc,
			 uint32_t count, bitstr_t **devices)
{
	bitstr_t *nodes = NULL;
	uint32_t offset = 0;

	if (!alloc)
		return;
	nodes = job->job_resrcs->node_bitmap;
	for (int n = pollux_slurm_first_node(nodes);
	     n < node_record_count && offset < count;
	     n = pollux_slurm_node_after(nodes, n)) {
		bitstr_t *bits = alloc[offset++];

		if (bits && !devices[n])
			devices[n] = bit_copy(bits);
		else if (bits && bit_size(bits) == bit_size(devices[n]))
			bit_or(devices[n], bits);
	}
}

bitstr_t **pollux_gres_devices(const job_record_t *job)
{
	bitstr_t **devices = xcalloc(node_record_count, sizeof(*devices));
	uint32_t gpu = pollux_gpu_id();
	ListIterator iter = NULL;
	gres_state_t *state = NULL;

	if (!job->gres_list_alloc)
		return devices;
	iter = list_iterator_create(job->gres_list_alloc);
	while ((state = list_next(iter))) {
		const gres_job_state_t *entry = state->gres_data;

		if (state->plugin_id == gpu)
			_add_devices(job, entry->gres_bit_alloc,
				     entry->node_cnt, devices);
	}
	list_iterator_destroy(iter);
	return devices;
}

static void _add_step(const job_record_t *job, const step_record_t *step,
		      bitstr_t **devices)
{
	uint32_t gpu = pollux_gpu_id();
	ListIterator iter = list_iterator_create(step->gres_list_alloc);
	gres_state_t *state = NULL;

	while ((state = list_next(iter))) {
		const gres_step_state_t *entry = state->gres_data;

		if (state->plugin_id == gpu)
			_add_devices(job, entry->gres_bit_alloc,
				     entry->node_cnt, devices);
	}
	list_iterator_destroy(iter);
}

/* Is it known what steps hold that outlived a resize? */
static bool _has_outlived(const job_record_t *job,
			  const struct pollux_job_state *state)
{
	return state && state->outlived &&
	       state->outlived_count == node_record_count &&
	       pollux_record_outlived(job);
}

/* Steps that outlived a resize do not tell any more: it was kept for them. */
static void _add_outlived(const job_record_t *job, bitstr_t **devices)
{
	const struct pollux_job_state *state =
		pollux_job_state_find(job->job_id);

	if (!_has_outlived(job, state))
		return;
	for (int n = 0; n < node_record_count; n++) {
		bitstr_t *kept = state->outlived[n];

		if (kept && !devices[n])
			devices[n] = bit_copy(kept);
		else if (kept && bit_size(kept) == bit_size(devices[n]))
			bit_or(devices[n], kept);
	}
}

void pollux_gres_outlive(const job_record_t *job, struct pollux_holding *held)
{
	struct pollux_job_state *state = pollux_job_state_find(job->job_id);

	if (!state)
		return;
	pollux_job_state_outlive(state, (void **) held->in_use,
				 node_record_count);
	held->in_use = NULL;
}

static bitstr_t **_no_devices(void)
{
	return xcalloc(node_record_count, sizeof(bitstr_t *));
}

/* The devices of all its steps; NULL: there are none. */
static bitstr_t **_read_in_use(const job_record_t *job)
{
	bitstr_t **devices = NULL;
	const step_record_t *step = NULL;
	ListIterator iter = NULL;

	if (!job->step_list)
		return NULL;
	iter = list_iterator_create(job->step_list);
	while ((step = list_next(iter))) {
		if (step->state != JOB_RUNNING || !step->gres_list_alloc)
			continue;
		if (!devices)
			devices = _no_devices();
		_add_step(job, step, devices);
	}
	list_iterator_destroy(iter);
	if (!devices && _has_outlived(job, pollux_job_state_find(job->job_id)))
		devices = _no_devices();
	if (devices)
		_add_outlived(job, devices);
	return devices;
}

void pollux_gres_take_out(job_record_t *job, struct pollux_holding *held)
{
	pollux_kept_types(job, held->types);
	held->devices = pollux_gres_devices(job);
	held->in_use = _read_in_use(job);
	(void) select_g_job_fini(job);
	held->resources = job->job_resrcs;
	held->gres_list_alloc = job->gres_list_alloc;
	job->job_resrcs = NULL;
	job->gres_list_alloc = NULL;
}

static void _recount(const job_record_t *job)
{
	bitstr_t *nodes = job->job_resrcs->node_bitmap;

	for (int n = pollux_slurm_first_node(nodes); n < node_record_count;
	     n = pollux_slurm_node_after(nodes, n))
		pollux_node_recount(node_record_table_ptr[n]);
}

/* Do the nodes' tables say that these devices are somebody's? */
static bool _are_taken(const job_record_t *job,
		       const struct pollux_holding *held)
{
	/* Slurm takes a lost node from a job. */
	for (int n = pollux_slurm_first_node(job->node_bitmap);
	     n < node_record_count;
	     n = pollux_slurm_node_after(job->node_bitmap, n)) {
		const gres_node_state_t *gpus = NULL;
		bitstr_t *had = held->devices[n];

		if (!had || !node_record_table_ptr[n])
			continue;
		gpus = pollux_node_gpus(node_record_table_ptr[n]);
		if (!gpus || !gpus->gres_bit_alloc ||
		    bit_size(gpus->gres_bit_alloc) != bit_size(had))
			continue;
		if (!bit_super_set(had, gpus->gres_bit_alloc))
			return false;
	}
	return true;
}

/* All that these nodes have, as Slurm writes it for whole nodes; or NULL. */
static List _all_of(const job_record_t *job, bitstr_t *nodes)
{
	List all = NULL;

	for (int n = pollux_slurm_first_node(nodes); n < node_record_count;
	     n = pollux_slurm_node_after(nodes, n)) {
		const node_record_t *node = node_record_table_ptr[n];

		if (gres_ctld_job_select_whole_node(&all, node->gres_list,
						    job->job_id, node->name) !=
		    SLURM_SUCCESS)
			FREE_NULL_LIST(all);
	}
	return all;
}

/*
 * The request for what the job has. That of whole nodes is looked up by types,
 * which what is allocated writes otherwise where GPUs have none.
 */
static List _as_it_has(const job_record_t *job)
{
	if (pollux_slurm_whole_nodes(job))
		return _all_of(job, job->job_resrcs->node_bitmap);
	return gres_job_state_list_dup(job->gres_list_alloc);
}

int pollux_gres_put_back(job_record_t *job, struct pollux_holding *held,
			 struct plx_error *err)
{
	List request = job->gres_list_req;
	int rc = 0;

	job->job_resrcs = held->resources;
	job->gres_list_alloc = held->gres_list_alloc;
	held->resources = NULL;
	held->gres_list_alloc = NULL;
	/*
	 * As after a restart of slurmctld: the tables are filled from what is
	 * allocated. A node lost since is missing there, but not in the
	 * request, so the one stands in for the other.
	 */
	job->gres_list_req = _as_it_has(job);
	if (select_g_select_nodeinfo_set(job) != SLURM_SUCCESS)
		rc = plx_fail(err, "Slurm does not take back what it had");
	_recount(job);
	if (rc == 0 && !_are_taken(job, held))
		rc = plx_fail(err, "Slurm does not count the GPUs it had");
	FREE_NULL_LIST(job->gres_list_req);
	job->gres_list_req = request;
	return rc;
}

void pollux_gres_devices_free(bitstr_t **devices)
{
	for (int n = 0; devices && n < node_record_count; n++)
		FREE_NULL_BITMAP(devices[n]);
	xfree(devices);
}

bool pollux_gres_suits(const job_record_t *job,
		       const struct pollux_shape *shape)
{
	bitstr_t **devices = _read_in_use(job);
	bool suits = true;

	/* Where the job leaves a node, steps are ended there. */
	for (int n = pollux_slurm_first_node(shape->nodes);
	     devices && n < node_record_count;
	     n = pollux_slurm_node_after(shape->nodes, n))
		suits = suits &&
			(!devices[n] || bit_set_count(devices[n]) <=
						pollux_shape_on(shape, n));
	pollux_gres_devices_free(devices);
	return suits;
}

void pollux_holding_release(struct pollux_holding *held)
{
	pollux_gres_devices_free(held->devices);
	pollux_gres_devices_free(held->in_use);
	held->devices = NULL;
	held->in_use = NULL;
	pollux_slurm_barred_release(&held->barred);
	FREE_NULL_LIST(held->gres_list_alloc);
	free_job_resources(&held->resources);
}

static void _clear_selection(gres_job_state_t *want)
{
	for (uint32_t n = 0; want->gres_bit_select && n < want->total_node_cnt;
	     n++)
		FREE_NULL_BITMAP(want->gres_bit_select[n]);
	xfree(want->gres_bit_select);
	xfree(want->gres_cnt_node_select);
	want->total_node_cnt = 0;
}

/*
 * Nothing on `count` nodes yet. What the select plugin chose is dropped: it
 * prefers what is allocated already, as for a job that ran before slurmctld was
 * started again.
 */
static void _begin_choice(gres_job_state_t *want, uint32_t count)
{
	_clear_selection(want);
	for (uint32_t i = 0; want->gres_bit_alloc && i < want->node_cnt; i++)
		FREE_NULL_BITMAP(want->gres_bit_alloc[i]);
	xfree(want->gres_bit_alloc);
	xfree(want->gres_cnt_node_alloc);
	want->node_cnt = count;
	want->gres_bit_alloc = xcalloc(count, sizeof(*want->gres_bit_alloc));
	want->gres_cnt_node_alloc =
		xcalloc(count, sizeof(*want->gres_cnt_node_alloc));
}

static gres_job_state_t *_wanted(const job_record_t *job)
{
	uint32_t gpu = pollux_gpu_id();
	gres_state_t *state = job->gres_list_req
				      ? list_find_first(job->gres_list_req,
							gres_find_id, &gpu)
				      : NULL;

	return state ? state->gres_data : NULL;
}

/*
 * Devices of node n, which has files of them; NULL: too few are free. An empty
 * set is Slurm's way to say: none of this node.
 */
static bitstr_t *_pick_on(const job_record_t *job,
			  const struct pollux_holding *held, int n, int count)
{
	struct pollux_cores cores = {
		.bits = pollux_devices_cores(job->job_resrcs, n),
		.near = POLLUX_NEAR_EACH,
		.bound = pollux_devices_are_bound(job),
	};
	bitstr_t *picked = pollux_devices_pick(held, n, count, &cores);

	FREE_NULL_BITMAP(cores.bits);
	return picked;
}

static int _has_too_few(int n, int count, const char *type, bool bound,
			struct plx_error *err)
{
	if (bound)
		return plx_fail_as(err, PLX_REFUSED_RESOURCES,
				   "node %s has no %d %s%sGPUs free with a "
				   "core near, for its enforce-binding",
				   node_record_table_ptr[n]->name, count, type,
				   type[0] ? " " : "");
	return plx_fail_as(err, PLX_REFUSED_RESOURCES,
			   "node %s has no %d %s%sGPUs free",
			   node_record_table_ptr[n]->name, count, type,
			   type[0] ? " " : "");
}

/* Write the choice as if it were allocated: Slurm then takes it as it is. */
static int _choose_devices(job_record_t *job, const struct pollux_shape *shape,
			   const struct pollux_holding *held,
			   struct plx_error *err)
{
	gres_job_state_t *want = _wanted(job);
	const char *type = held->types;
	uint32_t i = 0;

	if (!want)
		return plx_fail(err, "Slurm made no request for GPUs");
	_begin_choice(want, (uint32_t) bit_set_count(shape->nodes));
	for (int n = pollux_slurm_first_node(shape->nodes);
	     n < node_record_count;
	     n = pollux_slurm_node_after(shape->nodes, n)) {
		const node_record_t *node = node_record_table_ptr[n];
		const gres_node_state_t *gpus = pollux_node_gpus(node);
		int count = pollux_shape_on(shape, n);

		want->gres_cnt_node_alloc[i] = (uint64_t) count;
		if (gpus && gpus->gres_bit_alloc) {
			want->gres_bit_alloc[i] = _pick_on(job, held, n, count);
			if (!want->gres_bit_alloc[i])
				return _has_too_few(
					n, count, type,
					pollux_devices_are_bound(job), err);
		} else if (!count) {
			/* A mere number: Slurm takes 0 for no choice. */
			return plx_fail_as(err, PLX_REFUSED_NODES,
					   "the job needs a GPU of node %s",
					   node->name);
		}
		i++;
	}
	return 0;
}

static int _choose(job_record_t *job, const struct pollux_shape *shape,
		   const struct pollux_holding *held, struct plx_error *err)
{
	if (!shape->gpus)
		return 0;
	if (!pollux_slurm_whole_nodes(job))
		return _choose_devices(job, shape, held, err);
	FREE_NULL_LIST(job->gres_list_req);
	job->gres_list_req = _all_of(job, shape->nodes);
	return job->gres_list_req ? 0
				  : plx_fail_as(err, PLX_REFUSED_RESOURCES,
						"its nodes lack GPUs");
}

/* Trust nothing: does the job hold what was asked for? */
static bool _as_asked(const job_record_t *job, const struct pollux_shape *shape)
{
	int *gpus = xcalloc(node_record_count, sizeof(*gpus));
	bool right = true;

	pollux_record_gpus(job, gpus);
	for (int n = pollux_slurm_first_node(shape->nodes);
	     n < node_record_count;
	     n = pollux_slurm_node_after(shape->nodes, n))
		gpus[n] -= pollux_shape_on(shape, n);
	for (int n = 0; n < node_record_count; n++)
		right = right && gpus[n] == 0;
	xfree(gpus);
	return right;
}

/* A step may ask for as many GPUs a node as the request has on any. */
static void _let_steps_ask(job_record_t *job, const struct pollux_shape *shape)
{
	gres_job_state_t *want = _wanted(job);

	if (!want)
		return;
	for (int n = pollux_slurm_first_node(shape->nodes);
	     n < node_record_count;
	     n = pollux_slurm_node_after(shape->nodes, n))
		want->gres_per_node = MAX(want->gres_per_node,
					  (uint64_t) pollux_shape_on(shape, n));
}

/*
 * The choice is made. Where GPUs belong to no socket, Slurm makes none of its
 * own: requeued, the job would get these devices, whoever has them then.
 */
static void _forget_choice(job_record_t *job)
{
	gres_job_state_t *want = _wanted(job);

	if (want)
		_clear_selection(want);
}

/* With some devices hidden; 1: there are none to hide. */
static int _choose_near(job_record_t *job, const struct pollux_shape *shape,
			struct pollux_holding *held,
			const struct pollux_request *saved,
			enum pollux_near near, bool *keep)
{
	bitstr_t **hidden = pollux_devices_hide(shape, held, near);
	int rc = 1;

	if (hidden)
		rc = pollux_core_alloc_choose(job, shape, saved, held, keep,
					      NULL);
	pollux_devices_show(hidden);
	return rc;
}

/*
 * Slurm chooses the cores, near the devices that it sees: the job's own and
 * free ones of their sockets; where that cannot be, with free ones of other
 * sockets; or else all.
 */
static int _choose_cores(job_record_t *job, const struct pollux_shape *shape,
			 struct pollux_holding *held,
			 const struct pollux_request *saved, bool *keep,
			 struct plx_error *err)
{
	static const enum pollux_near ways[] = { POLLUX_NEAR_ALL,
						 POLLUX_NEAR_MORE };
	bool may_keep = *keep;

	for (size_t i = 0;
	     !pollux_slurm_whole_nodes(job) && i < ARRAY_SIZE(ways); i++) {
		int rc = 0;

		*keep = may_keep;
		rc = _choose_near(job, shape, held, saved, ways[i], keep);
		if (rc == 0)
			return 0;
		if (rc > 0)
			break;
		pollux_request_clear(job);
		if (pollux_request_write(job, shape, saved, err) < 0)
			return -1;
	}
	*keep = may_keep;
	return pollux_core_alloc_choose(job, shape, saved, held, keep, err);
}

/* On cores that it has where *keep is set; it then tells whether it does. */
static int _try_new(job_record_t *job, const struct pollux_shape *shape,
		    struct pollux_holding *held,
		    const struct pollux_request *saved, bool *keep,
		    struct plx_error *err)
{
	if (_choose_cores(job, shape, held, saved, keep, err) < 0) {
		*keep = false; /* it is no reason */
		return -1;
	}
	/* What it had was free of others a moment ago, and is still. */
	if (shape->lean && held->resources)
		pollux_core_alloc_keep_memory(job->job_resrcs, held->resources);
	if (_choose(job, shape, held, err) < 0) {
		free_job_resources(&job->job_resrcs);
		return -1;
	}
	if (select_g_select_nodeinfo_set(job) == SLURM_SUCCESS &&
	    _as_asked(job, shape)) {
		_forget_choice(job);
		if (shape->counts && !pollux_slurm_whole_nodes(job))
			_let_steps_ask(job, shape);
		return 0;
	}
	pollux_gres_drop(job);
	return plx_fail_as(err, PLX_REFUSED_RESOURCES,
			   "Slurm gave other GPUs than it was asked for");
}

int pollux_gres_new(job_record_t *job, const struct pollux_shape *shape,
		    struct pollux_holding *held,
		    const struct pollux_request *saved, struct plx_error *err)
{
	bool keep = true;
	int rc = _try_new(job, shape, held, saved, &keep, err);

	/* Its devices may have to be near other cores (enforce-binding). */
	if (rc == 0 || !keep)
		return rc;
	keep = false;
	pollux_request_clear(job);
	if (pollux_request_write(job, shape, saved, err) < 0)
		return -1;
	return _try_new(job, shape, held, saved, &keep, err);
}

void pollux_gres_drop(job_record_t *job)
{
	(void) select_g_job_fini(job);
	free_job_resources(&job->job_resrcs);
	FREE_NULL_LIST(job->gres_list_alloc);
}
