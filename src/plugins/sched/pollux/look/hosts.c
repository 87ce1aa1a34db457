/* SPDX-License-Identifier: GPL-2.0-or-later */
/* hosts.c - jobs whose batch script is not on their first node */

#include <string.h>

#include "common/slurm_compat.h"
#include "sched/pollux/look/hosts.h"
#include "sched/pollux/held.h"

/* After its start slurmctld has all nodes register within seconds. */
#define REGISTER_S 120

static bool _runs(const job_record_t *job)
{
	return job && (IS_JOB_RUNNING(job) || IS_JOB_SUSPENDED(job)) &&
	       !IS_JOB_COMPLETING(job);
}

static step_record_t *_batch_step(const job_record_t *job)
{
	slurm_step_id_t id = {
		.job_id = job->job_id,
		.step_het_comp = NO_VAL,
		.step_id = SLURM_BATCH_SCRIPT,
	};

	if (!job->batch_flag || !job->step_list || !job->batch_host)
		return NULL;
	return find_step_record((job_record_t *) job, &id);
}

/* Does it run elsewhere than on the job's first node? */
static bool _is_away(const job_record_t *job, const node_record_t *node)
{
	return node && job->node_bitmap &&
	       bit_ffs(job->node_bitmap) != (int) node->index;
}

/* The right name of the batch host if it has a wrong one, else NULL. */
static const char *_right_name(const job_record_t *job,
			       const step_record_t *batch)
{
	const char *host =
		batch->step_layout ? batch->step_layout->node_list : NULL;

	return host && xstrcmp(host, job->batch_host) ? host : NULL;
}

bool pollux_hosts_due(const job_record_t *job)
{
	const step_record_t *batch = _runs(job) ? _batch_step(job) : NULL;

	return batch && (_right_name(job, batch) ||
			 _is_away(job, find_node_record(job->batch_host)));
}

/* Set right away by slurmctld when the node reports the step. */
static bool _confirmed(const step_record_t *batch)
{
	return batch->time_last_active >= slurmctld_config.boot_time;
}

static void _mend_name(job_record_t *job, const step_record_t *batch)
{
	const char *host = _right_name(job, batch);

	if (!host || !find_node_record((char *) host))
		return;
	xfree(job->batch_host);
	job->batch_host = xstrdup(host);
	pollux_verbose("sched/pollux: JobId=%u: its script runs on %s",
		       job->job_id, host);
}

/* As slurmctld does when the batch host is the first node. */
static void _end_lost(job_record_t *job)
{
	bool requeue = job->details && job->details->requeue;

	pollux_info(
		"sched/pollux: JobId=%u: its script is not on %s any more%s",
		job->job_id, job->batch_host,
		requeue ? ", it is requeued" : "");
	job->exit_code = 1;
	(void) pollux_slurm_job_lost(job, requeue);
}

void pollux_hosts_mend(job_record_t *job)
{
	step_record_t *batch = _runs(job) ? _batch_step(job) : NULL;
	node_record_t *node = NULL;
	time_t now = time(NULL);

	if (!batch)
		return;
	_mend_name(job, batch);
	node = find_node_record(job->batch_host);
	if (!_is_away(job, node) || IS_NODE_DOWN(node) ||
	    IS_NODE_NO_RESPOND(node))
		return;
	if (_confirmed(batch) || now < slurmctld_config.boot_time + REGISTER_S)
		job->time_last_active = now;
	else if (node->last_response > slurmctld_config.boot_time)
		_end_lost(job);
}

static void _for_each(void (*act)(job_record_t *job))
{
	ListIterator iter = NULL;
	job_record_t *job = NULL;

	if (!job_list)
		return;
	iter = list_iterator_create(job_list);
	while ((job = list_next(iter))) {
		if (_runs(job))
			act(job);
	}
	list_iterator_destroy(iter);
}

void pollux_hosts_mend_all(void)
{
	_for_each(pollux_hosts_mend);
}

static void _doubt(job_record_t *job)
{
	step_record_t *batch = _batch_step(job);

	if (batch)
		batch->time_last_active = slurmctld_config.boot_time - 1;
}

void pollux_hosts_started(void)
{
	_for_each(_doubt);
	_for_each(pollux_hosts_mend);
}
