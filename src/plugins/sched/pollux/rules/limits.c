/* SPDX-License-Identifier: GPL-2.0-or-later */
/* limits.c - what a job's account and QOS allow */

#include "sched/pollux/rules/limits.h"

#include "src/common/assoc_mgr.h"

/* As select_nodes() counts what a job is about to get. */
static void _count(job_record_t *job, uint64_t *count)
{
	uint32_t nodes = job->job_resrcs->nhosts;

	count[TRES_ARRAY_CPU] = job->total_cpus;
	count[TRES_ARRAY_NODE] = nodes;
	count[TRES_ARRAY_MEM] = job_get_tres_mem(
		job->job_resrcs, job->details->pn_min_memory,
		count[TRES_ARRAY_CPU], nodes, job->part_ptr, job->gres_list_req,
		job->bit_flags & JOB_MEM_SET, job_get_sockets_per_node(job),
		job->details->num_tasks);
	gres_ctld_set_job_tres_cnt(job->gres_list_req, nodes, count, true);
	count[TRES_ARRAY_BILLING] = (uint64_t) assoc_mgr_tres_weighted(
		count, job->part_ptr->billing_weights,
		slurm_conf.priority_flags, true);
}

static bool _over(uint64_t count, const uint64_t *limits, int i)
{
	return limits && limits[i] != INFINITE64 && limits[i] != NO_VAL64 &&
	       count > limits[i];
}

/* Limits of a single job: account and QOS. */
static int _test_job(const job_record_t *job, const uint64_t *count,
		     struct plx_error *err)
{
	for (int i = 0; i < slurmctld_tres_cnt; i++) {
		const char *name = assoc_mgr_tres_name_array[i];

		if (job->assoc_ptr &&
		    _over(count[i], job->assoc_ptr->max_tres_ctld, i))
			return plx_fail(err,
					"its account allows a job no %s=%lu",
					name, (unsigned long) count[i]);
		if (job->qos_ptr &&
		    _over(count[i], job->qos_ptr->max_tres_pj_ctld, i))
			return plx_fail(err, "its QOS allows a job no %s=%lu",
					name, (unsigned long) count[i]);
	}
	return 0;
}

/*
 * Limits of a group of jobs: usage counts the old shape already, so only
 * what comes in addition is asked for.
 */
static int _test_group(job_record_t *job, uint64_t *count,
		       struct plx_error *err)
{
	uint32_t reason = job->state_reason;
	bool fits = true;

	for (int i = 0; i < slurmctld_tres_cnt; i++) {
		uint64_t had = job->tres_alloc_cnt ? job->tres_alloc_cnt[i] : 0;

		if (had == NO_CONSUME_VAL64 || had == NO_VAL64)
			had = 0;
		count[i] -= MIN(count[i], had);
	}
	fits = acct_policy_job_runnable_post_select(job, count, true);
	job->state_reason = reason;
	xfree(job->state_desc);
	return fits ? 0 : plx_fail(err, "its account or QOS is at its limit");
}

int pollux_limits_test(job_record_t *job, struct plx_error *err)
{
	assoc_mgr_lock_t lock = { .assoc = READ_LOCK,
				  .qos = READ_LOCK,
				  .tres = READ_LOCK };
	uint64_t *count = NULL;
	int rc = -1;

	if (!(accounting_enforce & ACCOUNTING_ENFORCE_LIMITS))
		return 0;
	count = xcalloc(slurmctld_tres_cnt, sizeof(*count));
	assoc_mgr_lock(&lock);
	_count(job, count);
	if (_test_job(job, count, err) == 0 &&
	    _test_group(job, count, err) == 0)
		rc = 0;
	assoc_mgr_unlock(&lock);
	xfree(count);
	return rc;
}
