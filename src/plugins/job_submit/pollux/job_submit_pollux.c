/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * job_submit_pollux.c - what becomes of an elastic job at its submission
 *
 * Checks the options again, as an RPC may come from anywhere, refuses what a
 * resize in place cannot carry along, and gives the job the shape it starts
 * in. Jobs without --scheduler-params are returned untouched at once; any job
 * is refused that carries far more SPANK entries than it can need.
 *
 * slurmctld holds read locks on jobs, nodes and partitions during job_submit()
 * and write locks during job_modify(), which runs at every update of a comment.
 */

#include <string.h>

#include "common/elastic.h"
#include "common/record_layout.h"
#include "common/loaded.h"
#include "common/node_gpus.h"
#include "job_submit/pollux/modify.h"
#include "job_submit/pollux/shape.h"

/* Required Slurm plugin symbols: */
const char plugin_name[] = "Pollux elastic job submission plugin";
const char plugin_type[] = "job_submit/pollux";
uint32_t plugin_version = SLURM_VERSION_NUMBER;

int init(void);
extern int job_submit(job_desc_msg_t *job_desc, uint32_t submit_uid,
		      char **err_msg);
extern int job_modify(POLLUX_MODIFY_ARGS);

static bool strange; /* not the Slurm that we know */

__attribute__((constructor)) static void _learn(void)
{
	pollux_loaded_learn(&plugin_version);
}

int init(void)
{
	char why[256];

	strange = pollux_loaded_wrong(why, sizeof(why));
	if (strange)
		error("job_submit/pollux: %s: elastic jobs are taken as they "
		      "are asked for, and not resized",
		      why);
	return SLURM_SUCCESS;
}

/* Then jobs are not looked at; sched/pollux says why. */
static bool _is_strange(void)
{
	return strange || pollux_layout_wrong();
}

/* Slurm refuses what is longer, but only after this. */
#define NAMES_MAX 1024

/* Seconds from the submission of a moldable job to its earliest start. */
#define MOLDABLE_BEGIN_S 1

static bool _is_het(const job_desc_msg_t *job)
{
	return job->het_job_offset != NO_VAL;
}

/* Newer releases: alone in a part of the network. */
static bool _wants_topology(const job_desc_msg_t *job)
{
	return job->shared != NO_VAL16 && job->shared > JOB_SHARED_MCS;
}

static bool _has_segments(const job_desc_msg_t *job)
{
	return pollux_slurm_segment(job) > 0;
}

/* Newer releases write --cpus-per-task there as well: "cpu=2". */
static bool _has_gpus_per_task(const job_desc_msg_t *job)
{
	const char *text = job->tres_per_task;

	return text && text[0] &&
	       (strncmp(text, "cpu", 3) || strchr(text, ','));
}

static bool _has_gpus_per_socket(const job_desc_msg_t *job)
{
	return job->tres_per_socket && job->tres_per_socket[0];
}

static bool _has_tasks_per_gpu(const job_desc_msg_t *job)
{
	return job->ntasks_per_tres && job->ntasks_per_tres != NO_VAL16;
}

/* A number of CPUs or tasks; 0: not said. */
static uint32_t _said(uint16_t count)
{
	return count == NO_VAL16 || count == INFINITE16 ? 0 : count;
}

static bool _has_tasks_per_socket(const job_desc_msg_t *job)
{
	return _said(job->ntasks_per_socket) > 0;
}

/* --mincpus; sbatch writes there what a node's tasks have as well. */
static bool _has_node_cpus(const job_desc_msg_t *job)
{
	return _said(job->pn_min_cpus) >
	       MAX(_said(job->cpus_per_task), 1) *
		       MAX(_said(job->ntasks_per_node), 1);
}

static bool _is_overcommitted(const job_desc_msg_t *job)
{
	return job->overcommit && job->overcommit != NO_VAL8;
}

/* What a resize in place cannot carry along, and what to do instead. */
static const struct {
	bool (*is_asked)(const job_desc_msg_t *job);
	const char *why;
} refusals[] = {
	{ _is_het, "an elastic job cannot be part of a heterogeneous job; "
		   "submit it as a job of its own" },
	{ _wants_topology, "an elastic job comes and goes on nodes all over "
			   "the network; leave out --exclusive=topo" },
	{ _has_segments, "an elastic job has now more nodes and now fewer, "
			 "which are no segments; leave out --segment, and use "
			 "--switches=1 to keep it on one switch or block" },
	{ _has_gpus_per_task, "an elastic job has one task a GPU; leave out "
			      "--gpus-per-task and use min= and max=" },
	{ _has_gpus_per_socket, "an elastic job's GPUs are counted by node; "
				"leave out --gpus-per-socket and use "
				"--gpus-per-node" },
	{ _has_tasks_per_gpu, "an elastic job has one task a GPU; leave out "
			      "--ntasks-per-gpu, and for more CPUs use "
			      "--cpus-per-gpu" },
	{ _has_tasks_per_socket, "an elastic job has one task a GPU; leave out "
				 "--ntasks-per-socket" },
	{ _has_node_cpus, "an elastic job's CPUs go with its GPUs; leave out "
			  "--mincpus and use --cpus-per-gpu" },
	{ _is_overcommitted, "an elastic job has a CPU for each GPU; leave out "
			     "--overcommit" },
};

static int _check_request(const job_desc_msg_t *job, struct plx_error *err)
{
	for (size_t i = 0; i < sizeof(refusals) / sizeof(refusals[0]); i++) {
		if (refusals[i].is_asked(job))
			return plx_fail(err, "%s", refusals[i].why);
	}
	return 0;
}

/* Only what has a script can be put back into the queue. */
static int _check_mode(const job_desc_msg_t *job,
		       const struct plx_options *options, struct plx_error *err)
{
	if (options->mode == PLX_MODE_LIVE || job->script)
		return 0;
	return plx_fail(err, "mode=requeue: is for batch jobs; use sbatch");
}

/* Nor what its user, or the cluster, wants to run but once. */
static int _check_limit(const job_desc_msg_t *job,
			const struct plx_options *options,
			struct plx_error *err)
{
	bool requeue = job->requeue == NO_VAL16 ? slurm_conf.job_requeue != 0
						: job->requeue != 0;

	if (options->at_limit != PLX_LIMIT_REQUEUE)
		return 0;
	if (!job->script)
		return plx_fail(err, "at-limit=requeue: is for batch jobs; "
				     "use sbatch");
	if (requeue)
		return 0;
	return plx_fail(err,
			"at-limit=requeue: the job may not be requeued; %s",
			job->requeue == NO_VAL16 ? "add --requeue"
						 : "leave out --no-requeue");
}

static uint32_t _given(uint32_t count)
{
	return count == NO_VAL || count == INFINITE ? 0 : count;
}

/* --gpus, and --gres or --gpus-per-node; of one type, if they name any. */
static int _read_gpus(const job_desc_msg_t *job, struct pollux_gpus *all,
		      struct pollux_gpus *each, struct plx_error *err)
{
	if (pollux_gpu_request(job->tres_per_job, all, err) < 0 ||
	    pollux_gpu_request(job->tres_per_node, each, err) < 0)
		return -1;
	if (all->type[0] && each->type[0] && xstrcmp(all->type, each->type))
		return plx_fail(err,
				"an elastic job has GPUs of one type: %s or %s",
				all->type, each->type);
	if (!each->type[0])
		memcpy(each->type, all->type, sizeof(each->type));
	return 0;
}

/* One of the partitions that it may start in; the text is cut into names. */
static const part_record_t *_next_partition(char **names)
{
	const part_record_t *part = NULL;
	char *name = NULL;

	while (!part && (name = strsep(names, ",")))
		part = find_part_record(name);
	return part;
}

/*
 * Its nodes where it has them for itself, by its own wish or that of one of its
 * partitions: those of the first; NULL: it shares nodes.
 */
static bitstr_t *_whole_nodes(const job_desc_msg_t *job)
{
	const part_record_t *part = default_part_loc;
	bitstr_t *nodes = NULL;
	char *text = xstrdup(job->partition);
	char *names = text;

	if (text)
		part = _next_partition(&names);
	while (part && !nodes) {
		if (job->shared == JOB_SHARED_NONE || !part->max_share)
			nodes = part->node_bitmap;
		part = text ? _next_partition(&names) : NULL;
	}
	xfree(text);
	return nodes;
}

static int _read_request(const job_desc_msg_t *job, bool whole,
			 struct pollux_gpus *each,
			 struct shape_request *request, struct plx_error *err)
{
	pollux_hostlist_t hosts;
	struct pollux_gpus all;

	if (_read_gpus(job, &all, each, err) < 0)
		return -1;
	*request = (struct shape_request){
		.min_nodes = _given(job->min_nodes),
		.max_nodes = _given(job->max_nodes),
		.gpus = all.count,
		.gpus_per_node = each->count,
		.whole = whole,
		.type = each->type,
	};
	/* --nodelist names nodes of which the job gets all. */
	if (job->req_nodes && job->req_nodes[0] &&
	    (hosts = hostlist_create(job->req_nodes))) {
		uint32_t count = (uint32_t) hostlist_count(hosts);

		request->min_nodes = MAX(request->min_nodes, count);
		hostlist_destroy(hosts);
	}
	return 0;
}

/* Several tasks a GPU would not be so many any more after the first resize. */
static int _check_ratio(const char *option, uint32_t tasks, uint32_t gpus,
			const char *where, struct plx_error *err)
{
	if (tasks <= gpus)
		return 0;
	return plx_fail(err,
			"%s=%u: the job starts with %u GPU%s%s and one task "
			"for each; leave out %s, and for more CPUs use "
			"--cpus-per-gpu",
			option, tasks, gpus, gpus == 1 ? "" : "s", where,
			option);
}

/*
 * srun asks for a step on all nodes of the job it creates, with the tasks its
 * user wants; slurmctld divides by zero where a node gets none.
 */
static int _check_tasks(const job_desc_msg_t *job, const struct shape *shape,
			struct plx_error *err)
{
	uint32_t on_node =
		job->ntasks_per_node == NO_VAL16 ? 0 : job->ntasks_per_node;

	if (_check_ratio("--ntasks-per-node", on_node, shape->gpus_per_node,
			 " on a node", err) < 0 ||
	    _check_ratio("--ntasks", _given(job->num_tasks),
			 shape->nodes * shape->gpus_per_node, "", err) < 0)
		return -1;
	if (job->script || job->num_tasks >= shape->nodes)
		return 0;
	return plx_fail(err,
			"--ntasks=%u: the job starts on %u nodes with one task "
			"a GPU; leave out --ntasks",
			job->num_tasks, shape->nodes);
}

/* With a time it is a wish, and only until the job starts. */
static bool _holds_switches(const job_desc_msg_t *job)
{
	return _given(job->req_switch) && job->wait4switch == NO_VAL;
}

/* For resizes: the request is overwritten with the shape it starts in. */
static void _keep_nodes(job_desc_msg_t *job, bool pack)
{
	struct elastic_nodes nodes = { .min = _given(job->min_nodes),
				       .max = _given(job->max_nodes),
				       .switches = _holds_switches(job),
				       .pack = pack };
	char text[ELASTIC_NODES_SIZE];
	uint32_t count = job->spank_job_env_size;

	if (!elastic_write_nodes(nodes, text))
		return;
	xrecalloc(job->spank_job_env, count + 1, sizeof(char *));
	job->spank_job_env[count] = xstrdup(text);
	job->spank_job_env_size = count + 1;
}

/* CPUs that it wants for each GPU. */
static uint32_t _cpus(const job_desc_msg_t *job)
{
	struct pollux_beside beside = {
		.cpus_per_tres = job->cpus_per_tres,
		.cpus_per_task = _said(job->cpus_per_task),
	};

	return pollux_needs(&beside).cpus;
}

static void _write_request(job_desc_msg_t *job, const struct shape *shape,
			   const char *type)
{
	xfree(job->tres_per_job);
	xfree(job->tres_per_node);
	job->tres_per_node =
		pollux_slurm_gpu_text(type, (int) shape->gpus_per_node);
	job->min_nodes = shape->nodes;
	job->max_nodes = shape->nodes;
	job->ntasks_per_node = shape->gpus_per_node;
	job->num_tasks = shape->nodes * shape->gpus_per_node;
	job->min_cpus = job->num_tasks * _cpus(job);
	job->max_cpus = NO_VAL;
	/* The launcher goes on without a node that is lost. */
	job->kill_on_node_fail = 0;
}

/*
 * Slurm would start it in its smallest shape before its submission has ended.
 * It begins a moment later, when sched/pollux has seen it.
 */
static void _begin_later(job_desc_msg_t *job)
{
	time_t soon = time(NULL) + MOLDABLE_BEGIN_S;

	if (job->begin_time < soon)
		job->begin_time = soon;
}

static int _refuse(uint32_t uid, const struct plx_error *err, char **err_msg)
{
	info("%s: job of uid %u refused: %s", plugin_type, uid, err->text);
	xfree(*err_msg);
	*err_msg = xstrdup_printf("Pollux: %s", err->text);
	return ESLURM_NOT_SUPPORTED;
}

extern int job_submit(job_desc_msg_t *job_desc, uint32_t submit_uid,
		      char **err_msg)
{
	struct shape_cluster cluster;
	struct shape_request request;
	struct pollux_gpus gpus;
	struct plx_options options;
	struct plx_error err;
	struct shape shape;
	bitstr_t *whole = NULL;
	int elastic;

	if (_is_strange())
		return SLURM_SUCCESS;
	if (elastic_check_env(job_desc->spank_job_env,
			      job_desc->spank_job_env_size, &err) < 0)
		return _refuse(submit_uid, &err, err_msg);
	elastic = elastic_options(job_desc->spank_job_env,
				  job_desc->spank_job_env_size, &options, &err);
	if (!elastic ||
	    (job_desc->partition && strlen(job_desc->partition) > NAMES_MAX))
		return SLURM_SUCCESS;
	whole = _whole_nodes(job_desc);
	if (elastic < 0 || _check_request(job_desc, &err) < 0 ||
	    _read_request(job_desc, whole, &gpus, &request, &err) < 0 ||
	    _check_mode(job_desc, &options, &err) < 0 ||
	    _check_limit(job_desc, &options, &err) < 0)
		return _refuse(submit_uid, &err, err_msg);
	cluster = pollux_gpu_cluster(gpus.type, whole);
	if (shape_choose(&options, &request, &cluster, &shape, &err) < 0 ||
	    _check_tasks(job_desc, &shape, &err) < 0)
		return _refuse(submit_uid, &err, err_msg);
	_keep_nodes(job_desc, request.gpus_per_node > 0);
	_write_request(job_desc, &shape, gpus.type);
	if (options.mode == PLX_MODE_REQUEUE)
		_begin_later(job_desc);
	return SLURM_SUCCESS;
}

static bool _is_about_nodes(const job_desc_msg_t *job)
{
	return job->min_nodes != NO_VAL || job->tres_per_node ||
	       job->tres_per_job || job->req_nodes || job->exc_nodes;
}

static int _modify(job_desc_msg_t *job_desc, job_record_t *job_ptr,
		   uint32_t submit_uid, char **err_msg)
{
	struct plx_error err = { .text = "" };
	int rc = SLURM_SUCCESS;

	if (_is_strange() || !_is_about_nodes(job_desc) ||
	    !elastic_text(job_ptr->spank_job_env, job_ptr->spank_job_env_size))
		return SLURM_SUCCESS;
	rc = modify_nodes(job_desc, job_ptr, submit_uid, &err);
	if (rc != SLURM_SUCCESS) {
		info("%s: update of %pJ by uid %u refused: %s", plugin_type,
		     job_ptr, submit_uid, err.text);
		if (err_msg) {
			xfree(*err_msg);
			*err_msg = xstrdup_printf("Pollux: %s", err.text);
		}
		return rc;
	}
	/* Permissive: Pollux goes on from whatever shape the job is given. */
	if (_is_about_nodes(job_desc))
		info("%s: %pJ is elastic, and uid %u asks for other nodes or "
		     "GPUs: Slurm decides, and Pollux goes on from there",
		     plugin_type, job_ptr, submit_uid);
	return SLURM_SUCCESS;
}

extern int job_modify(POLLUX_MODIFY_ARGS)
{
	return _modify(job_desc, job_ptr, submit_uid, POLLUX_MODIFY_SAYS);
}
