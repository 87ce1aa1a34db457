/* SPDX-License-Identifier: GPL-2.0-or-later */
/* hosts.c - jobs whose batch script is not where slurmctld looks for it */

#include <string.h>

#include "common/record_layout.h"
#include "common/slurm_compat.h"
#include "sched/pollux/job_options.h"
#include "sched/pollux/snapshot/hosts.h"
#include "sched/pollux/snapshot/lost_node.h"
#include "sched/pollux/locks.h"
#include "sched/pollux/record.h"
#include "sched/pollux/rules/slurmds.h"

/* More than between slurmctld's start and its reading of the jobs. */
#define RECOVER_S 5
/* For a node to register when it is asked, three times. */
#define REGISTER_S 15
/* For a job's script to become a step, once the job has its nodes. */
#define START_S 10

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

/*
 * Of a script that ran when slurmctld was started, and that no node has told
 * of since: for how long that has been strange. At first slurmctld takes it to
 * be on its way to its node.
 */
static time_t _unseen_s(const step_record_t *batch)
{
	int launch_s = slurm_conf.batch_start_timeout +
		       MIN(DEFAULT_MSG_TIMEOUT, slurm_conf.msg_timeout);

	if (batch->time_last_active != slurmctld_config.boot_time - 1)
		return 0;
	return time(NULL) - slurmctld_config.boot_time - launch_s - RECOVER_S;
}

/*
 * Its script was started and is no step any more: newer releases take a node
 * that fails from a job of several, also the one of its script.
 */
static bool _has_lost_script(const job_record_t *job)
{
	return _runs(job) && job->batch_flag && !IS_JOB_CONFIGURING(job) &&
	       job->batch_host && !_batch_step(job) &&
	       time(NULL) - job->start_time > START_S && pollux_is_elastic(job);
}

bool pollux_hosts_due(const job_record_t *job)
{
	const step_record_t *batch = _runs(job) ? _batch_step(job) : NULL;

	if (!batch)
		return _has_lost_script(job);
	return _right_name(job, batch) || _unseen_s(batch) > 0 ||
	       _is_away(job, find_node_record(job->batch_host));
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

/*
 * A slurmctld that came back with an older state takes a job to run that its
 * nodes have ended. When the last of them says so, Slurm takes it from the job,
 * and at the job's end gives nothing back, as for a job without nodes. So it
 * has them again until then.
 */
static void _give_nodes_again(job_record_t *job)
{
	const job_resources_t *had = job->job_resrcs;

	if (job->node_cnt || !had || !had->node_bitmap || !job->node_bitmap)
		return;
	for (int n = pollux_slurm_first_node(had->node_bitmap);
	     n < node_record_count;
	     n = pollux_slurm_node_after(had->node_bitmap, n)) {
		if (bit_test(job->node_bitmap, n))
			continue;
		make_node_alloc(node_record_table_ptr[n], job);
		bit_set(job->node_bitmap, n);
		if (!IS_JOB_SUSPENDED(job))
			continue;
		node_record_table_ptr[n]->run_job_cnt--;
		node_record_table_ptr[n]->sus_job_cnt++;
	}
	job->node_cnt = (uint32_t) bit_set_count(job->node_bitmap);
	job->cpu_cnt = job->total_cpus;
	pollux_slurm_license_get(job); /* they were given back as well */
}

/* As slurmctld does when the batch host is the first node. */
static void _end_lost(job_record_t *job)
{
	bool requeue = job->details && job->details->requeue;

	_give_nodes_again(job);
	pollux_info(
		"sched/pollux: JobId=%u: its script is not on %s any more%s",
		job->job_id, job->batch_host,
		requeue ? ", it is requeued" : "");
	job->exit_code = 1;
	(void) pollux_slurm_job_lost(job, requeue);
}

/* FREE_NULL_BITMAP() is the caller's. */
static bitstr_t *_only(const node_record_t *node)
{
	bitstr_t *nodes = bit_alloc(node_record_count);

	bit_set(nodes, node->index);
	return nodes;
}

/* The job's end is not told to a node that is none of its nodes any more. */
static void _end_there(job_record_t *job)
{
	const node_record_t *node = find_node_record(job->batch_host);
	bitstr_t *nodes = NULL;

	if (!node || bit_test(job->node_bitmap, node->index))
		return;
	nodes = _only(node);
	abort_job_on_nodes(job, nodes);
	FREE_NULL_BITMAP(nodes);
}

/* One message to all: Slurm passes it on from node to node. */
void pollux_hosts_ask(bitstr_t *nodes, slurm_msg_type_t message)
{
	agent_arg_t *agent = xmalloc(sizeof(*agent));
	char *names = bitmap2node_name(nodes);

	ping_begin(); /* its answers count as a ping's */
	agent->msg_type = message;
	agent->protocol_version = SLURM_PROTOCOL_VERSION;
	for (int n = pollux_slurm_first_node(nodes); n < node_record_count;
	     n = pollux_slurm_node_after(nodes, n))
		agent->protocol_version =
			MIN(agent->protocol_version,
			    node_record_table_ptr[n]->protocol_version);
	agent->node_count = bit_set_count(nodes);
	agent->hostlist = hostlist_create(names);
	set_agent_arg_r_uid(agent, SLURM_AUTH_UID_ANY);
	agent_queue_request(agent);
	xfree(names);
}

/*
 * When it registers, slurmctld ends a job whose script is not there. It would
 * have it register by itself, half an hour later.
 */
static void _have_registered(const node_record_t *node)
{
	bitstr_t *nodes = _only(node);

	pollux_hosts_ask(nodes, REQUEST_NODE_REGISTRATION_STATUS);
	FREE_NULL_BITMAP(nodes);
}

void pollux_hosts_mend(job_record_t *job)
{
	step_record_t *batch = _runs(job) ? _batch_step(job) : NULL;
	node_record_t *node = NULL;
	time_t unseen_s = 0;

	if (!batch) {
		if (_has_lost_script(job)) {
			_end_there(job);
			_end_lost(job);
		}
		return;
	}
	_mend_name(job, batch);
	node = find_node_record(job->batch_host);
	if (!node || IS_NODE_DOWN(node) || IS_NODE_NO_RESPOND(node))
		return;
	unseen_s = _unseen_s(batch);
	if (_is_away(job, node) && unseen_s > REGISTER_S &&
	    pollux_slurmds_registered(node)) {
		_end_lost(job);
		return;
	}
	if (unseen_s > 0)
		_have_registered(node);
	if (_is_away(job, node))
		job->time_last_active = time(NULL);
}

/*
 * Elastic jobs outlive a node (--no-kill): Slurm takes it off a job of several
 * nodes. A job ends with its script, though, so where that is lost it is to be
 * put back into the queue, as a job of one node is.
 */
static void _node_fails(job_record_t *job, node_record_t *node)
{
	if (!pollux_layout_wrong() && job && node && job->batch_flag &&
	    job->details && job->details->requeue &&
	    !xstrcmp(job->batch_host, node->name) && pollux_is_elastic(job))
		job->kill_on_node_fail = 1;
	if (job && node)
		pollux_lost_node_expect(job, node);
}

void pollux_hosts_watch(void)
{
	pollux_slurm_on_node_fail(_node_fails);
}

void pollux_hosts_unwatch(void)
{
	pollux_slurm_on_node_fail(NULL);
}

void pollux_hosts_mend_all(void)
{
	pollux_record_each(pollux_hosts_mend);
}

static void _check(job_record_t *job)
{
	step_record_t *batch = _runs(job) ? _batch_step(job) : NULL;

	if (batch)
		batch->time_last_active = slurmctld_config.boot_time - 1;
}

void pollux_hosts_started(void)
{
	pollux_record_each(_check);
	pollux_record_each(pollux_hosts_mend);
}
