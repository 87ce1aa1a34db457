/* SPDX-License-Identifier: GPL-2.0-or-later */
/* partition.c - what a job's partition allows it in another shape */

#include "src/common/assoc_mgr.h"

#include "core/records/refusal.h"
#include "sched/pollux/rules/partition.h"

/*
 * As scheduler loops ask, about a request for so many nodes and GPUs. What the
 * answer writes into the record, or replaces there, is not the job's.
 */
static int _ask(const job_record_t *job, int nodes, int gpus, int most)
{
	job_details_t details = *job->details;
	job_record_t probe = *job;
	job_record_t *asked = &probe;
	int reason = WAIT_NO_REASON;

	details.min_nodes = (uint32_t) nodes;
	details.max_nodes = (uint32_t) nodes;
	details.num_tasks = (uint32_t) gpus;
	details.ntasks_per_node = (uint16_t) most;
	probe.details = &details;
	probe.prio_factors = NULL;
	probe.tres_per_task = xstrdup(job->tres_per_task);
	reason = job_limits_check(&asked, false);
	xfree(probe.tres_per_task);
	xfree(probe.prio_factors);
	return reason;
}

static int _test_size(const job_record_t *job, const struct pollux_shape *shape,
		      struct plx_error *err)
{
	int nodes = bit_set_count(shape->nodes);
	int most = 0;
	int reason = WAIT_NO_REASON;

	for (int n = pollux_slurm_first_node(shape->nodes);
	     n < node_record_count;
	     n = pollux_slurm_node_after(shape->nodes, n))
		most = MAX(most, pollux_shape_on(shape, n));
	reason = _ask(job, nodes, MAX(pollux_shape_gpus(shape), nodes),
		      MAX(most, 1));
	if (reason == WAIT_NO_REASON)
		return 0;
	return plx_fail_as(err, PLX_REFUSED_LIMITS,
			   "limits of partition %s forbid it: %s",
			   job->part_ptr->name, job_reason_string(reason));
}

/* Rights that may have been taken from it since it was started. */
static int _test_access(const job_record_t *job, struct plx_error *err)
{
	assoc_mgr_lock_t lock = { .assoc = READ_LOCK, .qos = READ_LOCK };
	part_record_t *part = job->part_ptr;
	int rc = SLURM_SUCCESS;

	assoc_mgr_lock(&lock);
	rc = part_policy_valid_acct(
		part, job->assoc_ptr ? job->assoc_ptr->acct : NULL, NULL);
	if (rc == SLURM_SUCCESS)
		rc = pollux_slurm_valid_qos(job);
	assoc_mgr_unlock(&lock);
	if (rc != SLURM_SUCCESS)
		return plx_fail_as(
			err, PLX_REFUSED_LIMITS,
			"its account or QOS may not use partition %s now",
			part->name);
	/* Newer releases ask that as a limit with EnforcePartLimits alone. */
	if (!validate_group(part, job->user_id))
		return plx_fail_as(
			err, PLX_REFUSED_LIMITS,
			"no group of its user may use partition %s now",
			part->name);
	return 0;
}

int pollux_partition_test(const job_record_t *job,
			  const struct pollux_shape *shape,
			  struct plx_error *err)
{
	if (_test_access(job, err) < 0)
		return -1;
	return _test_size(job, shape, err);
}

/* A limit by CPU is kept when the job is submitted: it gets more of them. */
static bool _limits_memory(const job_record_t *job)
{
	uint64_t most = job->part_ptr->max_mem_per_cpu
				? job->part_ptr->max_mem_per_cpu
				: slurm_conf.max_mem_per_cpu;

	return most && !(most & MEM_PER_CPU);
}

int pollux_partition_node_gpus(const job_record_t *job, int most)
{
	int gpus = 0;

	if (!_limits_memory(job))
		return most;
	while (gpus < most &&
	       _ask(job, 1, gpus + 1, gpus + 1) != WAIT_PN_MEM_LIMIT)
		gpus++;
	return gpus;
}
