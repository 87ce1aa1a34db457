/* SPDX-License-Identifier: GPL-2.0-or-later */
/* commit.c - nodes, steps and accounting of a job that has a new shape */

#include "sched/pollux/acct/acct.h"
#include "sched/pollux/record.h"
#include "sched/pollux/resize/epilog.h"
#include "sched/pollux/resize/commit.h"
#include "sched/pollux/resize/node_jobs.h"
#include "sched/pollux/rules/usage_correction.h"

static void _give_up(job_record_t *job, const struct pollux_holding *held,
		     bitstr_t *nodes)
{
	if (bit_ffs(nodes) < 0)
		return;
	for (int n = pollux_slurm_first_node(nodes); n < node_record_count;
	     n = pollux_slurm_node_after(nodes, n))
		kill_step_on_node(job, node_record_table_ptr[n], false);
	pollux_epilog_leave(job, held, nodes);
}

static void _gain(job_record_t *job, bitstr_t *nodes)
{
	for (int n = pollux_slurm_first_node(nodes); n < node_record_count;
	     n = pollux_slurm_node_after(nodes, n)) {
		make_node_alloc(node_record_table_ptr[n], job);
		bit_set(job->node_bitmap, n);
		pollux_node_jobs_add(node_record_table_ptr[n], job->job_id);
	}
}

/*
 * Steps that go on (the launcher's) hold nothing of the new resources: they
 * become what --overlap would have made them, so that nothing is given back
 * for them when they end. Their GPUs are forgotten as well: Slurm 22.05 does
 * not lengthen a step's counts when its job grows, and saves what lies beyond.
 */
static void _release_steps(job_record_t *job)
{
	ListIterator iter = NULL;
	step_record_t *step = NULL;

	if (!job->step_list)
		return;
	iter = list_iterator_create(job->step_list);
	while ((step = list_next(iter))) {
		FREE_NULL_LIST(step->gres_list_alloc);
		if (pollux_record_is_users(step))
			step->flags |= SSF_OVERLAP_FORCE;
	}
	list_iterator_destroy(iter);
}

/* build_node_details() would make the first node the batch host. */
static void _name_nodes(job_record_t *job)
{
	char *host = xstrdup(job->batch_host);

	xfree(job->nodes);
	job->nodes = xstrdup(job->job_resrcs->nodes);
	job->cpu_cnt = job->total_cpus;
	pollux_slurm_node_details(job);
	xfree(job->batch_host);
	job->batch_host = host;
}

void pollux_resize_commit(job_record_t *job, struct pollux_holding *held,
			  uint32_t old_cpus)
{
	job_resources_t *resources = job->job_resrcs;
	uint32_t new_cpus = job->total_cpus;
	bitstr_t *before = bit_copy(job->node_bitmap);
	bitstr_t *gone = bit_copy(before);
	bitstr_t *gained = bit_copy(resources->node_bitmap);
	struct pollux_usage_correction correction;

	bit_and_not(gone, resources->node_bitmap);
	bit_and_not(gained, before);

	/* Accounting closes the old shape, so the record has to show that. */
	job->job_resrcs = held->resources;
	job->total_cpus = old_cpus;
	pollux_usage_correction_open(job, &correction);
	pollux_acct_end_shape(job);
	pollux_usage_correction_ended(job, &correction);
	_give_up(job, held, gone);

	job->job_resrcs = resources;
	job->total_cpus = new_cpus;
	_gain(job, gained);
	_name_nodes(job);
	pollux_gres_outlive(job, held);
	_release_steps(job);
	rebuild_step_bitmaps(job, before);
	/* No step counts any more, though rebuilding has counted them all. */
	bit_nclear(resources->core_bitmap_used, 0,
		   bit_size(resources->core_bitmap_used) - 1);
	gs_job_start(job);
	pollux_acct_begin_shape(job);
	pollux_usage_correction_close(job, &correction);
	pollux_slurm_gres_details(job);
	last_job_update = last_node_update = time(NULL);

	FREE_NULL_BITMAP(before);
	FREE_NULL_BITMAP(gone);
	FREE_NULL_BITMAP(gained);
}
