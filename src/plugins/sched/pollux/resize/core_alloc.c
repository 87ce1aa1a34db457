/* SPDX-License-Identifier: GPL-2.0-or-later */
/* core_alloc.c - CPUs and memory for a shape */

#include <string.h>

#include "core/records/refusal.h"
#include "sched/pollux/resize/core_alloc.h"
#include "sched/pollux/resize/given.h"

/* Two that are like a partition, but are not it. The thread's own. */
struct likeness {
	char *of; /* its name: a new record with it is the same partition */
	part_record_t parts[2];
	int now; /* which of the two */
	struct likeness *next;
};

/*
 * Never freed: the select plugin remembers by its place which partition it was
 * asked about last, and what its jobs have by default (JobDefaults). Where that
 * has changed it is the other one's turn.
 */
static part_record_t *_likeness(const part_record_t *part)
{
	static struct likeness *first;
	struct likeness *at = first;

	while (at && xstrcmp(at->of, part->name) != 0)
		at = at->next;
	if (!at) {
		at = xmalloc(sizeof(*at));
		at->of = xstrdup(part->name);
		at->next = first;
		first = at;
	} else if (at->parts[at->now].job_defaults_list !=
		   part->job_defaults_list) {
		at->now = !at->now;
	}
	at->parts[at->now] = *part;
	return &at->parts[at->now];
}

/* In a partition that has no jobs, where these do not matter. */
static int _test(job_record_t *job, bitstr_t *nodes, pollux_barred_t *barred)
{
	uint32_t count = (uint32_t) bit_set_count(nodes);
	part_record_t *part = job->part_ptr;
	int rc = SLURM_ERROR;

	if (!pollux_slurm_counts_cores(part))
		job->part_ptr = _likeness(part);
	rc = pollux_slurm_job_test(job, nodes, count, barred);
	job->part_ptr = part;
	return rc;
}

static int _select(job_record_t *job, bitstr_t *wanted, pollux_barred_t *barred,
		   struct plx_error *err)
{
	bitstr_t *nodes = bit_copy(wanted);
	int rc = _test(job, nodes, barred);

	if (rc == SLURM_SUCCESS && job->job_resrcs &&
	    bit_equal(job->job_resrcs->node_bitmap, wanted)) {
		FREE_NULL_BITMAP(nodes);
		return 0;
	}
	FREE_NULL_BITMAP(nodes);
	free_job_resources(&job->job_resrcs);
	return plx_fail_as(err, PLX_REFUSED_RESOURCES,
			   "not enough CPUs, memory or GPUs are free there");
}

/* Nothing on the nodes of the shape yet. */
static job_resources_t *_create(const struct pollux_shape *shape)
{
	job_resources_t *all = create_job_resources();
	uint32_t count = (uint32_t) bit_set_count(shape->nodes);

	all->node_bitmap = bit_copy(shape->nodes);
	/* In the order of the nodes' numbers, as all arrays here. */
	all->nodes = bitmap2node_name_sortable(shape->nodes, false);
	all->nhosts = count;
	all->cpus = xcalloc(count, sizeof(*all->cpus));
	all->cpus_used = xcalloc(count, sizeof(*all->cpus_used));
	all->memory_allocated = xcalloc(count, sizeof(*all->memory_allocated));
	all->memory_used = xcalloc(count, sizeof(*all->memory_used));
	(void) build_job_resources(all);
	return all;
}

static void _copy_cores(const node_record_t *node, const job_resources_t *from,
			int from_core, job_resources_t *to, int to_core)
{
	for (int c = 0; c < node->tot_cores; c++) {
		if (bit_test(from->core_bitmap, from_core + c))
			bit_set(to->core_bitmap, to_core + c);
	}
}

/* Those of `part`, each at its place among all nodes. */
static void _add(job_resources_t *all, const job_resources_t *part)
{
	int from = 0, to = 0;
	int from_core = 0, to_core = 0;

	all->node_req = part->node_req;
	all->cr_type = part->cr_type;
	all->whole_node = part->whole_node;
	all->threads_per_core = part->threads_per_core;
	all->ncpus += part->ncpus;
	for (int n = pollux_slurm_first_node(all->node_bitmap);
	     n < node_record_count;
	     n = pollux_slurm_node_after(all->node_bitmap, n)) {
		const node_record_t *node = node_record_table_ptr[n];

		if (bit_test(part->node_bitmap, n)) {
			all->cpus[to] = part->cpus[from];
			all->memory_allocated[to] =
				part->memory_allocated[from];
			_copy_cores(node, part, from_core, all, to_core);
			from_core += node->tot_cores;
			from++;
		}
		to_core += node->tot_cores;
		to++;
	}
}

/* The nodes on which CPUs for so many GPUs are wanted; NULL: there are none. */
static bitstr_t *_nodes_with(const struct pollux_shape *shape, int gpus)
{
	bitstr_t *nodes = bit_alloc(node_record_count);

	for (int n = pollux_slurm_first_node(shape->nodes);
	     n < node_record_count;
	     n = pollux_slurm_node_after(shape->nodes, n)) {
		if (pollux_shape_cpus_for(shape, n) == gpus)
			bit_set(nodes, n);
	}
	if (bit_ffs(nodes) < 0)
		FREE_NULL_BITMAP(nodes);
	return nodes;
}

/* A shape that is made of parts. */
struct parts {
	const struct pollux_shape *shape;
	const struct pollux_request *saved;
	pollux_barred_t *barred;
	bitstr_t *kept;	  /* where it keeps its cores; NULL: nowhere */
	uint64_t request; /* given.h */
	job_resources_t *all;
	int written; /* GPUs of the request that was written last; 0: none */
};

static int _write(job_record_t *job, struct parts *parts, bitstr_t *nodes,
		  int gpus, struct plx_error *err)
{
	const struct pollux_shape part = { .nodes = nodes, .gpus = gpus };

	pollux_request_clear(job);
	parts->written = gpus;
	return pollux_request_write(job, &part, parts->saved, err);
}

static int _add_part(job_record_t *job, struct parts *parts, bitstr_t *nodes,
		     int gpus, struct plx_error *err)
{
	if (_write(job, parts, nodes, gpus, err) < 0 ||
	    _select(job, nodes, parts->barred, err) < 0)
		return -1;
	pollux_given_learn(job->job_resrcs, gpus, parts->request);
	_add(parts->all, job->job_resrcs);
	free_job_resources(&job->job_resrcs);
	return 0;
}

/* What the parts' requests come to. */
static void _sum_up(job_record_t *job, const struct pollux_shape *shape,
		    const job_resources_t *all)
{
	job_details_t *details = job->details;
	uint32_t scripts = 0;
	uint32_t tasks = 0;

	for (int n = pollux_slurm_first_node(shape->nodes);
	     n < node_record_count;
	     n = pollux_slurm_node_after(shape->nodes, n)) {
		tasks += (uint32_t) pollux_shape_cpus_for(shape, n);
		scripts += pollux_shape_cpus_for(shape, n) == 0;
	}
	FREE_NULL_BITMAP(details->req_node_bitmap);
	details->req_node_bitmap = bit_copy(shape->nodes);
	details->min_nodes = details->max_nodes = all->nhosts;
	details->num_tasks = tasks;
	details->min_cpus =
		scripts + tasks * MAX(details->pn_min_cpus /
					      MAX(details->ntasks_per_node, 1),
				      1);
	/* Not alike on all nodes. */
	if (POLLUX_SLURM_MULTIPLIES_TASKS)
		details->ntasks_per_node = 0;
}

static void _take(job_record_t *job, job_resources_t *all)
{
	pollux_slurm_rank_nodes(job, all);
	(void) build_job_resources_cpu_array(all);
	job->total_cpus = 0;
	for (uint32_t i = 0; i < all->nhosts; i++)
		job->total_cpus += all->cpus[i];
	job->job_resrcs = all;
}

void pollux_core_alloc_keep_memory(job_resources_t *both,
				   const job_resources_t *before)
{
	bitstr_t *either = bit_copy(both->node_bitmap);
	int to = 0;
	int from = 0;

	bit_or(either, before->node_bitmap);
	for (int n = pollux_slurm_first_node(either); n < node_record_count;
	     n = pollux_slurm_node_after(either, n)) {
		bool had = bit_test(before->node_bitmap, n);

		if (bit_test(both->node_bitmap, n)) {
			if (had && both->memory_allocated &&
			    before->memory_allocated)
				both->memory_allocated[to] =
					MAX(both->memory_allocated[to],
					    before->memory_allocated[from]);
			to++;
		}
		from += had;
	}
	FREE_NULL_BITMAP(either);
}

/* The least that is above 0, and the most, of the GPUs that CPUs go with. */
static void _range(const struct pollux_shape *shape, int *least, int *most)
{
	*least = *most = 0;
	for (int n = pollux_slurm_first_node(shape->nodes);
	     n < node_record_count;
	     n = pollux_slurm_node_after(shape->nodes, n)) {
		int gpus = pollux_shape_cpus_for(shape, n);

		*most = MAX(*most, gpus);
		if (gpus && (!*least || gpus < *least))
			*least = gpus;
	}
}

/* Ask for a part, but for the nodes where it keeps its cores. */
static int _ask_part(job_record_t *job, struct parts *parts, int gpus,
		     struct plx_error *err)
{
	bitstr_t *nodes = _nodes_with(parts->shape, gpus);
	int rc = 0;

	if (nodes && parts->kept)
		bit_and_not(nodes, parts->kept);
	if (nodes && bit_ffs(nodes) >= 0)
		rc = _add_part(job, parts, nodes, gpus, err);
	FREE_NULL_BITMAP(nodes);
	return rc;
}

/* The request that stays is for the fewest GPUs; an even one is for all. */
static int _ask_for_all(job_record_t *job, struct parts *parts, int least,
			struct plx_error *err)
{
	const struct pollux_shape *shape = parts->shape;
	bitstr_t *nodes = NULL;
	int rc = 0;

	if (!shape->counts) {
		if (parts->written)
			rc = _write(job, parts, shape->nodes, shape->gpus, err);
		return rc;
	}
	nodes = parts->written == least ? NULL : _nodes_with(shape, least);
	if (nodes)
		rc = _write(job, parts, nodes, least, err);
	FREE_NULL_BITMAP(nodes);
	if (rc == 0)
		_sum_up(job, shape, parts->all);
	return rc;
}

/* Where its script is alone first, then the largest count. */
static int _choose_parts(job_record_t *job, struct parts *parts,
			 const struct pollux_holding *held,
			 struct plx_error *err)
{
	int least = 0;
	int most = 0;
	int rc = 0;

	_range(parts->shape, &least, &most);
	parts->all = _create(parts->shape);
	if (parts->kept)
		pollux_given_keep(parts->shape, held, parts->request,
				  parts->kept, parts->all);
	for (int i = 0; i <= most && rc == 0; i++)
		rc = _ask_part(job, parts, i ? most + 1 - i : 0, err);
	if (rc == 0)
		rc = _ask_for_all(job, parts, least, err);
	if (rc < 0)
		free_job_resources(&parts->all);
	else
		_take(job, parts->all);
	return rc;
}

int pollux_core_alloc_choose(job_record_t *job,
			     const struct pollux_shape *shape,
			     const struct pollux_request *saved,
			     struct pollux_holding *held, bool *keep,
			     struct plx_error *err)
{
	struct parts parts = { .shape = shape,
			       .saved = saved,
			       .barred = &held->barred,
			       .request = pollux_given_for(job, saved) };
	int rc = 0;

	if (*keep && shape->gpus)
		parts.kept = pollux_given_kept(shape, held, parts.request);
	*keep = parts.kept;
	if (shape->counts || parts.kept) {
		rc = _choose_parts(job, &parts, held, err);
	} else {
		rc = _select(job, shape->nodes, parts.barred, err);
		if (rc == 0 && shape->gpus)
			pollux_given_learn(job->job_resrcs, shape->gpus,
					   parts.request);
	}
	FREE_NULL_BITMAP(parts.kept);
	return rc;
}
