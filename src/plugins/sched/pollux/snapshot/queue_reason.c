/* SPDX-License-Identifier: GPL-2.0-or-later */
/* queue_reason.c - what a pending job waits for, by Slurm's reason */

#include <limits.h>
#include <string.h>
#include <unistd.h>

#include "sched/pollux/snapshot/queue_reason.h"

/* Nothing but resources or a limit can be what it waits for. */
static bool _is_due(const job_record_t *job, time_t now)
{
	if (!IS_JOB_PENDING(job) || IS_JOB_COMPLETING(job) || !job->priority ||
	    !job->details || !job->part_ptr || job->resv_name)
		return false;
	return job->details->begin_time <= now;
}

/* One may be told without its domain. */
static bool _same_host(const char *a, const char *b)
{
	size_t length = MIN(strlen(a), strlen(b));

	return !strncmp(a, b, length) && (!a[length] || a[length] == '.') &&
	       (!b[length] || b[length] == '.');
}

static bool _is_backup(void)
{
	char here[HOST_NAME_MAX + 1] = "";

	if (slurm_conf.control_cnt < 2 || !slurm_conf.control_machine ||
	    !slurm_conf.control_machine[0] ||
	    gethostname(here, sizeof(here) - 1) < 0)
		return false;
	return !_same_host(slurm_conf.control_machine[0], here);
}

/*
 * What Slurm said while nodes were away stays until its main scheduler comes
 * by: for ever in a backup of 22.05, which does not run it, and for a het job,
 * which it leaves to backfill. Elsewhere it says so anew, for reasons that are
 * not looked at here.
 */
static bool _nodes_are_back(const job_record_t *job)
{
	const bitstr_t *all = job->details->req_node_bitmap;
	const bitstr_t *may = job->part_ptr->node_bitmap;
	uint32_t least = MAX(job->details->min_nodes, 1);

	if (job->state_reason != WAIT_NODE_NOT_AVAIL || !may ||
	    (all && !bit_super_set((bitstr_t *) all, avail_node_bitmap)))
		return false;
	return (uint32_t) bit_overlap((bitstr_t *) may, avail_node_bitmap) >=
		       least &&
	       (job->het_job_id || _is_backup());
}

/* As Slurm says why it does not run. */
bool pollux_waits_for_nodes(const job_record_t *job, time_t now)
{
	return _is_due(job, now) &&
	       (job->state_reason == WAIT_NO_REASON ||
		job->state_reason == WAIT_RESOURCES ||
		job->state_reason == WAIT_PRIORITY ||
		job->state_reason == WAIT_LICENSES || _nodes_are_back(job));
}

/*
 * Reasons that name a limit of an association or a QOS, in the order of enum
 * job_state_reason. Slurm appends to it and changes no number, as they cross
 * the wire. The texts do not tell: that of WAIT_QOS_MAX_GRES_PER_ACCT is
 * "MaxGRESPerAccount".
 */
static const struct {
	uint32_t first;
	uint32_t last;
} limit_reasons[] = {
	{ WAIT_ASSOC_JOB_LIMIT, WAIT_ASSOC_TIME_LIMIT },
	{ WAIT_QOS_JOB_LIMIT, WAIT_QOS_TIME_LIMIT },
	{ WAIT_QOS_GRP_CPU, WAIT_ASSOC_MAX_SUB_JOB },
	{ WAIT_ASSOC_GRP_UNK, WAIT_QOS_MAX_SUB_JOB_PER_ACCT },
	{ WAIT_ASSOC_GRP_BILLING, WAIT_QOS_MIN_BILLING },
};

/* Slurm's own test of that (runnable_state) knows no limit of GPUs. */
bool pollux_reason_is_limit(const job_record_t *job)
{
	for (size_t i = 0; i < ARRAY_SIZE(limit_reasons); i++) {
		if (job->state_reason >= limit_reasons[i].first &&
		    job->state_reason <= limit_reasons[i].last)
			return true;
	}
	return false;
}

/* Elastic jobs under the same limit may be in its way: see limit_split.h. */
bool pollux_waits_for_limit(const job_record_t *job, time_t now)
{
	return _is_due(job, now) && pollux_reason_is_limit(job);
}
