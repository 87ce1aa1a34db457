/* SPDX-License-Identifier: GPL-2.0-or-later */
/* limits.c - what a job's associations and QOS allow */

#include <string.h>

#include "src/common/assoc_mgr.h"

#include "core/records/refusal.h"
#include "sched/pollux/rules/usage.h"
#include "sched/pollux/rules/limit_walk.h"
#include "sched/pollux/rules/limits.h"

/* As select_nodes() counts what a job is about to get. */
static void _count(job_record_t *job, uint64_t *count)
{
	uint32_t nodes = job->job_resrcs->nhosts;

	if (job->tres_req_cnt)
		memcpy(count, job->tres_req_cnt,
		       sizeof(*count) * (size_t) slurmctld_tres_cnt);
	count[TRES_ARRAY_CPU] = job->total_cpus;
	count[TRES_ARRAY_NODE] = nodes;
	count[TRES_ARRAY_MEM] = job_get_tres_mem(
		job->job_resrcs, job->details->pn_min_memory,
		count[TRES_ARRAY_CPU], nodes, job->part_ptr, job->gres_list_req,
		job->bit_flags & JOB_MEM_SET, job_get_sockets_per_node(job),
		job->details->num_tasks);
	/* Not those of the request: a job that was lent GPUs has more. */
	gres_ctld_set_job_tres_cnt(job->gres_list_alloc, nodes, count, true);
	count[TRES_ARRAY_BILLING] = (uint64_t) assoc_mgr_tres_weighted(
		count, job->part_ptr->billing_weights,
		slurm_conf.priority_flags, true);
}

static bool _grows(const job_record_t *job, const uint64_t *count)
{
	for (int i = 0; i < slurmctld_tres_cnt; i++) {
		if (pollux_usage_count(count, i) >
		    pollux_usage_count(job->tres_alloc_cnt, i))
			return true;
	}
	return false;
}

/* "8 GPUs", "16 of cpu"; minutes: "480 GPU-minutes". */
static void _say_amount(const struct pollux_tres_limit *limit, char *text,
			size_t size)
{
	const char *name = assoc_mgr_tres_name_array[limit->tres];
	bool minutes = limit->unit != POLLUX_NOW;
	unsigned long most = (unsigned long) limit->most;

	if (!xstrcmp(name, "gres/gpu"))
		snprintf(text, size, "%lu %s", most,
			 minutes ? "GPU-minutes" : "GPUs");
	else if (limit->tres == TRES_ARRAY_CPU)
		snprintf(text, size, "%lu %s", most,
			 minutes ? "CPU-minutes" : "CPUs");
	else if (limit->tres == TRES_ARRAY_NODE && !minutes)
		snprintf(text, size, "%lu nodes", most);
	else
		snprintf(text, size, "%lu %sof %s", most,
			 minutes ? "minutes " : "", name);
}

static const char *const to_whom[] = {
	[POLLUX_OF_JOB] = " a job",	[POLLUX_OF_NODE] = " a job's node",
	[POLLUX_OF_USER] = " its user", [POLLUX_OF_ACCOUNT] = " its account",
	[POLLUX_OF_ALL] = "",
};

/* What is asked for, and what is found against it. */
struct asked {
	const job_record_t *job;
	const uint64_t *count;
	struct plx_error *err;
	bool found;
};

static bool _is_over(const struct asked *asked,
		     const struct pollux_tres_limit *limit)
{
	uint64_t need = pollux_usage_count(asked->count, limit->tres);
	uint64_t nodes = asked->count[TRES_ARRAY_NODE];
	uint64_t spent = limit->spent ? (uint64_t) (*limit->spent / 60) : 0;

	if (!need)
		return false;
	if (limit->unit != POLLUX_NOW)
		need *= pollux_limit_minutes(asked->job);
	if (limit->scope == POLLUX_OF_NODE && nodes)
		need /= nodes;
	if (limit->unit == POLLUX_SPENT &&
	    !(accounting_enforce & ACCOUNTING_ENFORCE_SAFE))
		return spent >= limit->most;
	if (limit->unit == POLLUX_SPENT)
		need += spent;
	if (limit->scope == POLLUX_OF_JOB || limit->scope == POLLUX_OF_NODE)
		return need > limit->most;
	if (limit->unit != POLLUX_NOW)
		return need + *limit->run_s / 60 > limit->most;
	return need + (limit->used ? *limit->used : 0) > limit->most;
}

static bool _explain(const struct pollux_tres_limit *limit, void *context)
{
	struct asked *asked = context;
	char amount[64];
	bool all = limit->scope == POLLUX_OF_ALL;

	if (!_is_over(asked, limit))
		return true;
	asked->found = true;
	_say_amount(limit, amount, sizeof(amount));
	if (limit->qos)
		plx_fail_as(asked->err, PLX_REFUSED_LIMITS,
			    "QOS %.40s allows%s %s%s", limit->qos->name,
			    to_whom[limit->scope], amount,
			    all ? " in all" : "");
	else
		plx_fail_as(asked->err, PLX_REFUSED_LIMITS,
			    "%s %.40s allows%s %s%s",
			    limit->assoc->user ? "its user's account"
					       : "account",
			    limit->assoc->acct, to_whom[limit->scope], amount,
			    all ? " in all" : "");
	return false;
}

/* Slurm's answer; what it wrote on the job is put back. */
static uint32_t _ask_slurm(job_record_t *job, uint64_t *count)
{
	uint32_t reason = job->state_reason;
	char *words = job->state_desc;
	slurmdb_qos_rec_t *blocking = job->qos_blocking_ptr;
	uint32_t answer = WAIT_NO_REASON;

	job->state_desc = NULL;
	job->state_reason = WAIT_NO_REASON;
	if (!acct_policy_job_runnable_post_select(job, count, true))
		answer = job->state_reason ? job->state_reason
					   : WAIT_ASSOC_RESOURCE_LIMIT;
	xfree(job->state_desc);
	job->state_desc = words;
	job->state_reason = reason;
	job->qos_blocking_ptr = blocking;
	return answer;
}

static int _test(job_record_t *job, uint64_t *count, struct plx_error *err)
{
	struct asked asked = { .job = job, .count = count, .err = err };
	struct pollux_usage_copy *copy = NULL;
	struct pollux_usage_counters counters;
	uint32_t reason = WAIT_NO_REASON;

	_count(job, count);
	if (!_grows(job, count))
		return 0;
	pollux_usage_open(job, &counters);
	copy = pollux_usage_uncount(job, &counters);
	reason = _ask_slurm(job, count);
	if (reason)
		pollux_limit_walk(job, _explain, &asked);
	pollux_usage_recount(&counters, copy);
	pollux_usage_release(&counters);
	if (!reason || asked.found)
		return reason ? -1 : 0;
	return plx_fail_as(err, PLX_REFUSED_LIMITS, "Slurm's limits say no: %s",
			   job_reason_string(reason));
}

int pollux_limits_test(job_record_t *job, struct plx_error *err)
{
	assoc_mgr_lock_t lock = { .assoc = WRITE_LOCK,
				  .qos = WRITE_LOCK,
				  .tres = READ_LOCK };
	uint64_t *count = NULL;
	int rc = 0;

	if (!(accounting_enforce & ACCOUNTING_ENFORCE_LIMITS) ||
	    !job->assoc_ptr)
		return 0;
	count = xcalloc(slurmctld_tres_cnt, sizeof(*count));
	assoc_mgr_lock(&lock);
	rc = _test(job, count, err);
	assoc_mgr_unlock(&lock);
	xfree(count);
	return rc;
}
