/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * record_layout.c - are slurmctld's records as in the headers we were built
 * with?
 */

#include "common/slurm_compat.h"
#include "common/record_layout.h"

/* All under slurmctld's locks, or in the thread that found out. */
static struct {
	bool nodes, parts, jobs, cores, gpus; /* seen */
	const char *wrong;
} known;

#define HAS_SIZE(record) (xsize(record) == sizeof(*(record)))

static const char *_node(const node_record_t *node)
{
	const config_record_t *config = node->config_ptr;

	if (!HAS_SIZE((node_record_t *) node) || node->magic != NODE_MAGIC)
		return "node records";
	if (!HAS_SIZE((config_record_t *) config) ||
	    config->magic != CONFIG_MAGIC)
		return "records of nodes' configuration";
	return NULL;
}

static const char *_nodes(void)
{
	for (int n = 0; n < node_record_count && !known.nodes; n++) {
		const node_record_t *node = node_record_table_ptr[n];

		if (!node)
			continue;
		known.nodes = true;
		return _node(node);
	}
	return NULL;
}

static const char *_parts(void)
{
	part_record_t *part = part_list ? list_peek(part_list) : NULL;

	if (known.parts || !part)
		return NULL;
	known.parts = true;
	return HAS_SIZE(part) && part->magic == PART_MAGIC
		       ? NULL
		       : "partition records";
}

/* As resize/core_alloc.c makes one: the same nodes have the same cores. */
static bool _rebuilds(const job_resources_t *resources)
{
	job_resources_t *made = create_job_resources();
	bool same = false;

	made->node_bitmap = bit_copy(resources->node_bitmap);
	made->nhosts = resources->nhosts;
	same = HAS_SIZE(made) && build_job_resources(made) == SLURM_SUCCESS &&
	       bit_size(made->core_bitmap) == bit_size(resources->core_bitmap);
	free_job_resources(&made);
	return same;
}

/* What the select plugin keeps of a job, tried on a copy. */
static bool _resources(job_resources_t *resources)
{
	job_resources_t *copy = NULL;
	int cpus = 0;
	bool same = false;

	if (!HAS_SIZE(resources) ||
	    bit_set_count(resources->node_bitmap) != (int) resources->nhosts)
		return false;
	copy = copy_job_resources(resources);
	for (uint32_t i = 0; i < copy->nhosts; i++)
		cpus += copy->cpus[i];
	same = build_job_resources_cpu_array(copy) == cpus &&
	       bit_equal(copy->core_bitmap, resources->core_bitmap) &&
	       _rebuilds(copy);
	free_job_resources(&copy);
	return same;
}

static const char *_job(const job_record_t *job)
{
	job_details_t *details = job->details;

	if (!HAS_SIZE((job_record_t *) job) || job->magic != JOB_MAGIC)
		return "job records";
	if (!details || !HAS_SIZE(details) || details->magic != DETAILS_MAGIC)
		return "records of jobs' details";
	return NULL;
}

/* NULL: it has no GPUs. */
static gres_state_t *_gpus(const job_record_t *job)
{
	uint32_t id = gres_build_id((char *) "gpu");

	return job->gres_list_alloc ? list_find_first(job->gres_list_alloc,
						      gres_find_id, &id)
				    : NULL;
}

static int _holds_what_is_not_known(void *x, void *arg)
{
	const job_record_t *job = x;

	(void) arg;
	return IS_JOB_RUNNING(job) && job->job_resrcs &&
	       (!known.cores || (!known.gpus && _gpus(job)));
}

/* Only a record that is as it should be can be asked more. */
static const char *_jobs(void)
{
	job_record_t *job = NULL;
	gres_state_t *gpus = NULL;

	if (!known.jobs) {
		job = job_list ? list_peek(job_list) : NULL;
		if (!job)
			return NULL;
		known.jobs = true;
		if (_job(job))
			return _job(job);
	}
	if (known.cores && known.gpus)
		return NULL;
	job = list_find_first_ro(job_list, _holds_what_is_not_known, NULL);
	if (!job)
		return NULL;
	known.cores = true;
	if (!_resources(job->job_resrcs))
		return "records of jobs' cores";
	gpus = _gpus(job);
	known.gpus = gpus;
	if (gpus && (!HAS_SIZE(gpus) ||
		     !HAS_SIZE((gres_job_state_t *) gpus->gres_data)))
		return "records of jobs' GPUs";
	return NULL;
}

const char *pollux_layout_wrong(void)
{
	if (!known.wrong)
		known.wrong = _nodes();
	if (!known.wrong)
		known.wrong = _parts();
	if (!known.wrong)
		known.wrong = _jobs();
	return known.wrong;
}

bool pollux_layout_known(void)
{
	return known.nodes && known.parts && known.cores && known.gpus;
}
