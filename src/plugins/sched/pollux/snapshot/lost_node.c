/* SPDX-License-Identifier: GPL-2.0-or-later */
/* lost_node.c - jobs that Slurm took a lost node away from */

#include "sched/pollux/locks.h"
#include "sched/pollux/snapshot/lost_node.h"
#include "sched/pollux/record.h"

static gres_job_state_t *_gpus(List list)
{
	uint32_t gpu = pollux_gpu_id();
	gres_state_t *state =
		list ? list_find_first(list, gres_find_id, &gpu) : NULL;

	return state ? state->gres_data : NULL;
}

static bool _one_kind(List list)
{
	return !list || list_count(list) <= 1;
}

bool pollux_has_lost_node(const job_record_t *job)
{
	const gres_job_state_t *request = _gpus(job->gres_list_req);
	const gres_job_state_t *has = _gpus(job->gres_list_alloc);

	/* So it is with nearly all jobs of each look. */
	if (!request || (has && has->node_cnt >= request->node_cnt))
		return false;
	/* Of several kinds of GPUs nothing is known here. */
	if (!_one_kind(job->gres_list_req) || !_one_kind(job->gres_list_alloc))
		return false;
	/* Where its last GPU was lost, it has none on any node. */
	return true;
}

/* What the job has, with the numbers of its request. */
static List _as_it_has(const job_record_t *job)
{
	const gres_job_state_t *request = _gpus(job->gres_list_req);
	List list = gres_job_state_list_dup(job->gres_list_alloc);
	gres_job_state_t *entry = _gpus(list);

	entry->flags = request->flags;
	entry->cpus_per_gres = request->cpus_per_gres;
	entry->gres_per_job = request->gres_per_job;
	entry->gres_per_node = request->gres_per_node;
	entry->gres_per_socket = request->gres_per_socket;
	entry->gres_per_task = request->gres_per_task;
	entry->mem_per_gres = request->mem_per_gres;
	entry->ntasks_per_gres = request->ntasks_per_gres;
	entry->def_cpus_per_gres = request->def_cpus_per_gres;
	entry->def_mem_per_gres = request->def_mem_per_gres;
	return list;
}

/* Takes the list; NULL: it asks for none. */
static void _ask_for(job_record_t *job, List list)
{
	const gres_job_state_t *gpus = _gpus(list);

	FREE_NULL_LIST(job->gres_list_req);
	FREE_NULL_LIST(job->gres_list_req_accum);
	job->gres_list_req = list;
	pollux_verbose("sched/pollux: JobId=%u: what it asks for has %u nodes "
		       "as well",
		       job->job_id, gpus ? gpus->node_cnt : 0);
}

static void _mend(job_record_t *job)
{
	const gres_job_state_t *has = _gpus(job->gres_list_alloc);

	_ask_for(job, has && has->node_cnt ? _as_it_has(job) : NULL);
}

static void _drop(gres_job_state_t *gpus, uint32_t place)
{
	uint64_t *counts = gpus->gres_cnt_node_alloc;
	bitstr_t **sets = gpus->gres_bit_alloc;
	uint32_t last = --gpus->node_cnt;

	gpus->total_gres -= counts[place];
	if (sets)
		FREE_NULL_BITMAP(sets[place]);
	for (uint32_t i = place; i < last; i++) {
		counts[i] = counts[i + 1];
		if (sets)
			sets[i] = sets[i + 1];
	}
	counts[last] = 0;
	if (sets)
		sets[last] = NULL;
}

/* Slurm will take the node off it, and let it go on. */
static bool _outlives(const job_record_t *job, const node_record_t *node)
{
	return (IS_JOB_RUNNING(job) || IS_JOB_SUSPENDED(job)) &&
	       !IS_JOB_COMPLETING(job) && !IS_JOB_CONFIGURING(job) &&
	       job->details && !job->kill_on_node_fail && job->node_cnt > 1 &&
	       job->job_resrcs && job->job_resrcs->node_bitmap &&
	       bit_test(job->job_resrcs->node_bitmap, (bitoff_t) node->index);
}

void pollux_lost_node_expect(job_record_t *job, const node_record_t *node)
{
	const gres_job_state_t *has = _gpus(job->gres_list_alloc);
	List list = NULL;
	int place = 0;

	if (!_outlives(job, node) || !_gpus(job->gres_list_req) || !has ||
	    !has->gres_cnt_node_alloc || !_one_kind(job->gres_list_req) ||
	    !_one_kind(job->gres_list_alloc))
		return;
	if (node->index)
		place = bit_set_count_range(job->job_resrcs->node_bitmap, 0,
					    (int32_t) node->index);
	if ((uint32_t) place >= has->node_cnt)
		return;
	if (has->gres_cnt_node_alloc[place] < has->total_gres) {
		list = _as_it_has(job);
		_drop(_gpus(list), (uint32_t) place);
	}
	_ask_for(job, list);
}

void pollux_lost_node_mend(job_record_t *job)
{
	if (job && (IS_JOB_RUNNING(job) || IS_JOB_SUSPENDED(job)) &&
	    !IS_JOB_COMPLETING(job) && pollux_has_lost_node(job))
		_mend(job);
}
