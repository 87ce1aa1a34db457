/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * modify.c - scontrol update of the nodes of a running elastic job
 *
 * Slurm takes nodes away at once, with the ranks that train there, and the next
 * plan would give them back. So what is asked for is kept with the job, and the
 * plan has it leave the nodes as at any resize. As with time limits, a user can
 * ask for less alone, and an operator for all. So it is with the number of
 * nodes of a job that waits: it starts small, and grows.
 */

#include <ctype.h>
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

#include "common/elastic.h"
#include "common/loaded.h"
#include "core/records/status.h"
#include "core/records/target.h"
#include "job_submit/pollux/modify.h"

/* More is no number of nodes that is kept, see elastic_read_nodes(). */
#define NODES_MAX 99999

/* Is there a plan at all? */
static bool _is_enabled(void)
{
	void *scheduler = pollux_loaded_scheduler();

	if (scheduler)
		dlclose(scheduler);
	return scheduler &&
	       !xstrcasestr(slurm_conf.sched_params, "pollux_enabled=no");
}

/* The shape of such a job is never changed (sched/pollux/rules/nodes.c). */
static bool _keeps_shape(const job_record_t *job)
{
	const job_details_t *details = job->details;

	return job->het_job_id || job->burst_buffer || details->contiguous ||
	       pollux_slurm_has_stepmgr(job) ||
	       (pollux_slurm_whole_nodes(job) &&
		(details->core_spec != NO_VAL16 ||
		 !xstrcmp(slurm_conf.select_type, "select/linear"))) ||
	       (details->features && strchr(details->features, '*'));
}

/*
 * Somebody may have written another comment over the status a moment ago: who
 * was asked for a shape has one.
 */
static bool _has_launcher(const job_record_t *job)
{
	struct plx_status status;
	struct plx_target target;

	return plx_status_read(job->comment, &status, NULL) == 1 ||
	       (plx_target_read(job->system_comment, &target, NULL) == 1 &&
		target.serial > 0);
}

/* A plan will know it: it runs, and its launcher has told its status. */
static bool _is_planned(const job_record_t *job)
{
	struct plx_options options;

	return (IS_JOB_RUNNING(job) || IS_JOB_SUSPENDED(job)) && job->details &&
	       job->node_bitmap && job->batch_host &&
	       elastic_options(job->spank_job_env, job->spank_job_env_size,
			       &options, NULL) == 1 &&
	       options.mode == PLX_MODE_LIVE && !_keeps_shape(job) &&
	       _has_launcher(job) && _is_enabled();
}

/* It is in the queue: Slurm would know the nodes that it starts on alone. */
static bool _waits(const job_record_t *job)
{
	struct plx_options options;

	return IS_JOB_PENDING(job) && job->details &&
	       elastic_options(job->spank_job_env, job->spank_job_env_size,
			       &options, NULL) == 1;
}

static bool _asks_nodes(const job_desc_msg_t *asked)
{
	return (asked->min_nodes && asked->min_nodes != NO_VAL) ||
	       asked->req_nodes || asked->exc_nodes;
}

/*
 * Slurm hands one request to each task of an array in turn: what is taken out
 * for the first would be missed by the others.
 */
static bool _is_one_task(const char *text, const job_record_t *job)
{
	const char *task = text ? strchr(text, '_') : NULL;
	char all[16];

	if (!text || !job->array_job_id)
		return true;
	snprintf(all, sizeof(all), "%u", job->array_job_id);
	if (!task)
		return strcmp(text, all) != 0;
	do
		task++;
	while (isdigit((unsigned char) *task));
	return !*task;
}

static int _is_other(void *x, void *key)
{
	const job_record_t *other = x;
	const job_record_t *job = key;

	return other != job && other->array_job_id == job->array_job_id;
}

/* It is no array, or one of which no task has a record of its own yet. */
static bool _is_alone(job_record_t *job)
{
	return !job->array_job_id || !list_find_first(job_list, _is_other, job);
}

static bool _may_update(const job_record_t *job, uint32_t uid, bool is_operator)
{
	return is_operator || uid == job->user_id ||
	       pollux_slurm_is_coordinator(uid, job->account);
}

/* All others stay where they are; the old string is free for another then. */
static void _keep_nodes(job_record_t *job, struct elastic_nodes nodes)
{
	char text[ELASTIC_NODES_SIZE];
	uint32_t count = job->spank_job_env_size;
	char **env = xcalloc(count + 1, sizeof(*env));
	uint32_t kept = 0;

	for (uint32_t i = 0; i < count; i++) {
		char *one = job->spank_job_env[i];

		if (elastic_is_nodes(one))
			xfree(one);
		else
			env[kept++] = one;
	}
	if (elastic_write_nodes(nodes, text))
		env[kept++] = xstrdup(text);
	xfree(job->spank_job_env);
	job->spank_job_env = env;
	job->spank_job_env_size = kept;
}

/*
 * What is left to Slurm: the nodes that a job in the queue starts on, where
 * that is another number now.
 */
static void _leave_start(job_desc_msg_t *asked, const job_record_t *job,
			 struct elastic_nodes nodes)
{
	uint32_t starts_on = job->details->min_nodes;
	uint32_t least = MAX(starts_on, nodes.min);

	asked->min_nodes = NO_VAL;
	asked->max_nodes = NO_VAL;
	if (!IS_JOB_PENDING(job) || MIN(least, nodes.max) == starts_on)
		return;
	asked->min_nodes = MIN(least, nodes.max);
	asked->max_nodes = asked->min_nodes;
}

/*
 * NumNodes=MOST or LEAST-MOST. ALL is Slurm's, and changes nothing. scontrol of
 * 24.11 writes MOST twice, so MOST-MOST is the same as MOST.
 */
static int _bound(job_desc_msg_t *asked, job_record_t *job, bool is_operator,
		  struct plx_error *err)
{
	struct elastic_nodes nodes =
		elastic_read_nodes(job->spank_job_env, job->spank_job_env_size);
	uint32_t least = asked->min_nodes;
	uint32_t most = asked->max_nodes;

	if (!least || least == NO_VAL || least == INFINITE)
		return SLURM_SUCCESS;
	if (!most || most == NO_VAL || most == INFINITE)
		most = least;
	if (least == most)
		least = MIN(nodes.min, most);
	if (most > NODES_MAX || least > most) {
		plx_fail(err, "NumNodes: want up to %d nodes, or LEAST-MOST",
			 NODES_MAX);
		return ESLURM_INVALID_NODE_COUNT;
	}
	/* One that was never started has no bound but its user's own. */
	if (!is_operator && nodes.max && most > nodes.max &&
	    !(IS_JOB_PENDING(job) && !job->restart_cnt)) {
		plx_fail(err,
			 "NumNodes: it may have %u nodes at most, and only an "
			 "operator can allow it more",
			 nodes.max);
		return ESLURM_ACCESS_DENIED;
	}
	nodes.min = least;
	nodes.max = most;
	_keep_nodes(job, nodes);
	_leave_start(asked, job, nodes);
	info("job_submit/pollux: %pJ may have up to %u nodes from now on", job,
	     most);
	return SLURM_SUCCESS;
}

static bool _is_batch_host(const job_record_t *job, bitstr_t *nodes)
{
	const node_record_t *batch_host = find_node_record(job->batch_host);

	return batch_host && bit_test(nodes, (bitoff_t) batch_host->index);
}

/* Takes the bitmap; NULL: no node. */
static void _exclude(job_record_t *job, bitstr_t *nodes)
{
	job_details_t *details = job->details;

	xfree(details->exc_nodes);
	FREE_NULL_BITMAP(details->exc_node_bitmap);
	details->exc_node_bitmap = nodes;
	if (nodes)
		details->exc_nodes = bitmap2node_name(nodes);
	info("job_submit/pollux: %pJ keeps off %s from now on", job,
	     nodes ? details->exc_nodes : "no node");
}

/* It would never start again, if it had to: Slurm refuses both at once. */
static bool _lists_any(const job_record_t *job, bitstr_t *nodes)
{
	bitstr_t *listed = job->details->req_node_bitmap;

	return listed && bit_overlap_any(listed, nodes);
}

static int _fail_listed(struct plx_error *err, const char *what)
{
	plx_fail(err,
		 "%s: it was submitted with --nodelist, and has to be on "
		 "all of these nodes",
		 what);
	return ESLURM_INVALID_NODE_NAME;
}

/* ReqNodeList: what it has besides these is excluded. */
static int _narrow(job_desc_msg_t *asked, job_record_t *job,
		   struct plx_error *err)
{
	bitstr_t *excluded = job->details->exc_node_bitmap;
	bitstr_t *kept = NULL;
	bitstr_t *gone = NULL;

	if (!asked->req_nodes || !asked->req_nodes[0] ||
	    pollux_slurm_nodes(asked->req_nodes, &kept) != SLURM_SUCCESS ||
	    !bit_super_set(kept, job->node_bitmap) ||
	    !_is_batch_host(job, kept)) {
		/* Slurm says what is wrong with it. */
		FREE_NULL_BITMAP(kept);
		return SLURM_SUCCESS;
	}
	gone = bit_copy(job->node_bitmap);
	bit_and_not(gone, kept);
	FREE_NULL_BITMAP(kept);
	if (_lists_any(job, gone)) {
		FREE_NULL_BITMAP(gone);
		return _fail_listed(err, "ReqNodeList");
	}
	if (excluded)
		bit_or(gone, excluded);
	xfree(asked->req_nodes);
	if (bit_ffs(gone) >= 0)
		_exclude(job, gone);
	else
		FREE_NULL_BITMAP(gone);
	return SLURM_SUCCESS;
}

/* ExcNodeList: these alone, where it is an operator's. */
static int _avoid(job_desc_msg_t *asked, job_record_t *job, bool is_operator,
		  struct plx_error *err)
{
	bitstr_t *excluded = job->details->exc_node_bitmap;
	bitstr_t *nodes = NULL;
	int rc = SLURM_SUCCESS;

	if (!asked->exc_nodes)
		return SLURM_SUCCESS;
	if (asked->exc_nodes[0] &&
	    pollux_slurm_nodes(asked->exc_nodes, &nodes) != SLURM_SUCCESS)
		rc = ESLURM_INVALID_NODE_NAME;
	if (rc != SLURM_SUCCESS)
		plx_fail(err, "ExcNodeList: a node of that name is not known");
	else if (nodes && _is_batch_host(job, nodes)) {
		rc = ESLURM_INVALID_NODE_NAME;
		plx_fail(err,
			 "ExcNodeList: its batch script runs on %s; drain that "
			 "with reason=leave to have the whole job moved",
			 job->batch_host);
	} else if (!is_operator && excluded &&
		   (!nodes || !bit_super_set(excluded, nodes))) {
		rc = ESLURM_ACCESS_DENIED;
		plx_fail(err, "ExcNodeList: only an operator can take nodes "
			      "off the list");
	}
	if (rc == SLURM_SUCCESS && nodes && _lists_any(job, nodes))
		rc = _fail_listed(err, "ExcNodeList");
	if (rc != SLURM_SUCCESS) {
		FREE_NULL_BITMAP(nodes);
		return rc;
	}
	xfree(asked->exc_nodes);
	_exclude(job, nodes);
	return SLURM_SUCCESS;
}

/* All of it, or nothing. */
static int _change(job_desc_msg_t *asked, job_record_t *job, bool is_operator,
		   struct plx_error *err)
{
	struct elastic_nodes before =
		elastic_read_nodes(job->spank_job_env, job->spank_job_env_size);
	bitstr_t *excluded = job->details->exc_node_bitmap;
	bitstr_t *copy = excluded ? bit_copy(excluded) : NULL;
	int rc = _bound(asked, job, is_operator, err);

	if (rc == SLURM_SUCCESS)
		rc = _avoid(asked, job, is_operator, err);
	if (rc == SLURM_SUCCESS)
		rc = _narrow(asked, job, err);
	if (rc == SLURM_SUCCESS) {
		FREE_NULL_BITMAP(copy);
		return SLURM_SUCCESS;
	}
	_keep_nodes(job, before);
	if (job->details->exc_node_bitmap == excluded)
		FREE_NULL_BITMAP(copy);
	else
		_exclude(job, copy);
	return rc;
}

int modify_nodes(job_desc_msg_t *asked, job_record_t *job, uint32_t uid,
		 struct plx_error *err)
{
	bool is_operator = false;

	if (!_asks_nodes(asked) || !(_waits(job) || _is_planned(job)))
		return SLURM_SUCCESS;
	/* Slurm asks that after job_modify(). */
	is_operator = validate_operator(uid);
	if (!_may_update(job, uid, is_operator))
		return SLURM_SUCCESS;
	if (IS_JOB_PENDING(job) && _is_alone(job))
		return _bound(asked, job, is_operator, err);
	if (!_is_one_task(asked->job_id_str, job)) {
		plx_fail(err, "one task at a time, as JobId=%u_%u",
			 job->array_job_id,
			 job->array_task_id == NO_VAL ? 0 : job->array_task_id);
		return ESLURM_NOT_SUPPORTED;
	}
	return IS_JOB_PENDING(job) ? _bound(asked, job, is_operator, err)
				   : _change(asked, job, is_operator, err);
}
