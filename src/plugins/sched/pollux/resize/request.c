/* SPDX-License-Identifier: GPL-2.0-or-later */
/* request.c - what a job asks for, written for another shape, and back */

#include <string.h>

#include "sched/pollux/resize/request.h"

static void _take_pointers(job_record_t *job, struct pollux_request *saved)
{
	job_details_t *details = job->details;

	saved->tres_per_job = job->tres_per_job;
	saved->tres_per_node = job->tres_per_node;
	saved->tres_per_socket = job->tres_per_socket;
	saved->tres_per_task = job->tres_per_task;
	saved->cpus_per_tres = job->cpus_per_tres;
	saved->mem_per_tres = job->mem_per_tres;
	saved->gres_list_req = job->gres_list_req;
	saved->req_node_bitmap = details->req_node_bitmap;
	saved->req_nodes = details->req_nodes;
	job->tres_per_job = NULL;
	job->tres_per_node = NULL;
	job->tres_per_socket = NULL;
	job->tres_per_task = NULL;
	job->cpus_per_tres = NULL;
	job->mem_per_tres = NULL;
	job->gres_list_req = NULL;
	details->req_node_bitmap = NULL;
	details->req_nodes = NULL;
}

void pollux_request_save(job_record_t *job, struct pollux_request *saved)
{
	const job_details_t *details = job->details;

	*saved = (struct pollux_request){
		.min_nodes = details->min_nodes,
		.max_nodes = details->max_nodes,
		.min_cpus = details->min_cpus,
		.max_cpus = details->max_cpus,
		.pn_min_cpus = details->pn_min_cpus,
		.num_tasks = details->num_tasks,
		.ntasks_per_node = details->ntasks_per_node,
		.ntasks_per_tres = details->ntasks_per_tres,
		.cpus_per_task = details->cpus_per_task,
		.contiguous = details->contiguous,
		.min_gres_cpu = details->min_gres_cpu,
		.min_job_gres_cpu = details->min_job_gres_cpu,
		.total_cpus = job->total_cpus,
		.pn_min_memory = details->pn_min_memory,
		.needs = pollux_job_needs(job),
		.req_switch = job->req_switch,
		.best_switch = job->best_switch,
	};
	pollux_job_gpu_type(job, saved->type);
	_take_pointers(job, saved);
	/* Rebuilt by the select plugin from gres_list_req. */
	FREE_NULL_LIST(job->gres_list_req_accum);
}

/* What the select plugin alone writes or reads goes back in any case. */
static void _restore_nodes(job_record_t *job, struct pollux_request *saved)
{
	job_details_t *details = job->details;

	FREE_NULL_BITMAP(details->req_node_bitmap);
	xfree(details->req_nodes);
	details->req_node_bitmap = saved->req_node_bitmap;
	details->req_nodes = saved->req_nodes;
	saved->req_node_bitmap = NULL;
	saved->req_nodes = NULL;
	details->contiguous = saved->contiguous;
	job->req_switch = saved->req_switch;
	job->best_switch = saved->best_switch;
	FREE_NULL_LIST(job->gres_list_req_accum);
}

static void _free_pointers(job_record_t *job)
{
	xfree(job->tres_per_job);
	xfree(job->tres_per_node);
	xfree(job->tres_per_socket);
	xfree(job->tres_per_task);
	xfree(job->cpus_per_tres);
	xfree(job->mem_per_tres);
	FREE_NULL_LIST(job->gres_list_req);
}

void pollux_request_restore(job_record_t *job, struct pollux_request *saved)
{
	job_details_t *details = job->details;

	_free_pointers(job);
	job->tres_per_job = saved->tres_per_job;
	job->tres_per_node = saved->tres_per_node;
	job->tres_per_socket = saved->tres_per_socket;
	job->tres_per_task = saved->tres_per_task;
	job->cpus_per_tres = saved->cpus_per_tres;
	job->mem_per_tres = saved->mem_per_tres;
	job->gres_list_req = saved->gres_list_req;
	details->min_nodes = saved->min_nodes;
	details->max_nodes = saved->max_nodes;
	details->min_cpus = saved->min_cpus;
	details->max_cpus = saved->max_cpus;
	details->pn_min_cpus = saved->pn_min_cpus;
	details->pn_min_memory = saved->pn_min_memory;
	details->num_tasks = saved->num_tasks;
	details->ntasks_per_node = saved->ntasks_per_node;
	details->ntasks_per_tres = saved->ntasks_per_tres;
	details->cpus_per_task = saved->cpus_per_task;
	details->min_gres_cpu = saved->min_gres_cpu;
	details->min_job_gres_cpu = saved->min_job_gres_cpu;
	job->total_cpus = saved->total_cpus;
	_restore_nodes(job, saved);
	memset(saved, 0, sizeof(*saved));
}

void pollux_request_keep(job_record_t *job, struct pollux_request *saved)
{
	_restore_nodes(job, saved);
	/* A parked job has no GPUs; what each brings counts again later. */
	if (!job->gres_list_req)
		job->details->cpus_per_task = saved->cpus_per_task;
	if (!job->cpus_per_tres) {
		job->cpus_per_tres = saved->cpus_per_tres;
		saved->cpus_per_tres = NULL;
	}
	if (!job->mem_per_tres) {
		job->mem_per_tres = saved->mem_per_tres;
		saved->mem_per_tres = NULL;
	}
	xfree(saved->tres_per_job);
	xfree(saved->tres_per_node);
	xfree(saved->tres_per_socket);
	xfree(saved->tres_per_task);
	xfree(saved->cpus_per_tres);
	xfree(saved->mem_per_tres);
	FREE_NULL_LIST(saved->gres_list_req);
}

/* gres_list_req from tres_per_node, cpus_per_tres and mem_per_tres. */
static int _validate(job_record_t *job, struct plx_error *err)
{
	int rc = pollux_slurm_validate_gres(job);

	if (rc != SLURM_SUCCESS)
		return plx_fail(err, "Slurm refuses to ask for %s: %s",
				job->tres_per_node, slurm_strerror(rc));
	return 0;
}

void pollux_request_clear(job_record_t *job)
{
	_free_pointers(job);
	FREE_NULL_LIST(job->gres_list_req_accum);
	FREE_NULL_BITMAP(job->details->req_node_bitmap);
}

int pollux_request_write_counts(job_record_t *job, int node_count, int gpus,
				const struct pollux_request *saved,
				struct plx_error *err)
{
	job_details_t *details = job->details;
	uint32_t nodes = (uint32_t) node_count;
	uint32_t tasks = (uint32_t) MAX(gpus, 1);
	/* Without a GPU, a CPU for the batch script is all it keeps. */
	uint32_t cpus = gpus ? pollux_needs_cpus(&saved->needs, tasks) : 1;

	details->min_nodes = nodes;
	details->max_nodes = nodes;
	details->num_tasks = nodes * tasks;
	details->ntasks_per_node = (uint16_t) tasks;
	details->ntasks_per_tres = NO_VAL16;
	details->min_cpus = nodes * tasks * cpus;
	details->max_cpus = NO_VAL;
	details->pn_min_cpus = tasks * cpus;
	details->cpus_per_task = gpus ? saved->cpus_per_task : 1;
	if (gpus && saved->needs.node_cpus)
		details->cpus_per_task = (uint16_t) cpus;
	details->contiguous = 0;
	job->req_switch = 0;
	/* And the memory of one GPU, where that is counted by them. */
	if (saved->mem_per_tres && saved->needs.memory)
		details->pn_min_memory = gpus ? 0 : saved->needs.memory;
	/* A parked job remembers the type. */
	if (gpus || saved->type[0])
		job->tres_per_node = pollux_slurm_gpu_text(saved->type, gpus);
	if (!gpus)
		return 0;
	job->cpus_per_tres = xstrdup(saved->cpus_per_tres);
	job->mem_per_tres = xstrdup(saved->mem_per_tres);
	return _validate(job, err);
}

int pollux_request_write(job_record_t *job, const struct pollux_shape *shape,
			 const struct pollux_request *saved,
			 struct plx_error *err)
{
	job->details->req_node_bitmap = bit_copy(shape->nodes);
	return pollux_request_write_counts(job, bit_set_count(shape->nodes),
					   shape->gpus, saved, err);
}
