/* SPDX-License-Identifier: GPL-2.0-or-later */
/* torn.c - jobs that Slurm took a lost node away from */

#include "sched/pollux/held.h"
#include "sched/pollux/look/torn.h"
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

bool pollux_torn(const job_record_t *job)
{
	const gres_job_state_t *request = _gpus(job->gres_list_req);
	const gres_job_state_t *has = _gpus(job->gres_list_alloc);

	/* Of several kinds of GPUs nothing is known here. */
	if (!request || !_one_kind(job->gres_list_req) ||
	    !_one_kind(job->gres_list_alloc))
		return false;
	/* Where its last GPU was lost, it has none on any node. */
	return !has || has->node_cnt < request->node_cnt;
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

static void _mend(job_record_t *job)
{
	const gres_job_state_t *has = _gpus(job->gres_list_alloc);
	uint32_t nodes = has ? has->node_cnt : 0;
	List list = nodes ? _as_it_has(job) : NULL;

	FREE_NULL_LIST(job->gres_list_req);
	FREE_NULL_LIST(job->gres_list_req_accum);
	job->gres_list_req = list;
	pollux_verbose("sched/pollux: JobId=%u: what it asks for has %u nodes "
		       "as well",
		       job->job_id, nodes);
}

void pollux_torn_mend(job_record_t *job)
{
	if (job && (IS_JOB_RUNNING(job) || IS_JOB_SUSPENDED(job)) &&
	    !IS_JOB_COMPLETING(job) && pollux_torn(job))
		_mend(job);
}
