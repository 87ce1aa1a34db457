/* SPDX-License-Identifier: GPL-2.0-or-later */
/* load.c - one look at the cluster through libslurm (view.h) */

#define _GNU_SOURCE

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "client/libslurm.h"
#include "report/view.h"

static const char *const state_names[JOB_END] = {
	[JOB_PENDING] = "PENDING",     [JOB_RUNNING] = "RUNNING",
	[JOB_SUSPENDED] = "SUSPENDED", [JOB_COMPLETE] = "COMPLETED",
	[JOB_CANCELLED] = "CANCELLED", [JOB_FAILED] = "FAILED",
	[JOB_TIMEOUT] = "TIMEOUT",     [JOB_NODE_FAIL] = "NODE_FAIL",
	[JOB_PREEMPTED] = "PREEMPTED", [JOB_BOOT_FAIL] = "BOOT_FAIL",
	[JOB_DEADLINE] = "DEADLINE",   [JOB_OOM] = "OUT_OF_MEM",
};

/* libslurm keeps its own names to itself; these are what one meets. */
static const char *const reasons[] = {
	[WAIT_PRIORITY] = "waits: jobs of higher priority come first",
	[WAIT_DEPENDENCY] = "waits for another job",
	[WAIT_RESOURCES] = "waits for GPUs or nodes",
	[WAIT_PART_NODE_LIMIT] = "asks for more nodes than its partition has",
	[WAIT_PART_TIME_LIMIT] = "asks for more time than its partition gives",
	[WAIT_HELD] = "held by the administrator",
	[WAIT_TIME] = "waits for its time to begin",
	[WAIT_LICENSES] = "waits for licences",
	[WAIT_RESERVATION] = "waits for its reservation",
	[WAIT_NODE_NOT_AVAIL] = "wants a node that is down or drained",
	[WAIT_HELD_USER] = "held by its user",
};

static void read_reason(const slurm_job_info_t *info, struct plx_view_job *job)
{
	const char *reason = "";

	if (info->state_desc)
		reason = info->state_desc;
	else if (info->state_reason < sizeof(reasons) / sizeof(reasons[0]) &&
		 reasons[info->state_reason])
		reason = reasons[info->state_reason];
	else if (info->state_reason == FAIL_EXIT_CODE)
		reason = "its exit code was not 0";
	snprintf(job->reason, sizeof(job->reason), "%s", reason);
}

static void read_id(const slurm_job_info_t *info, struct plx_view_job *job)
{
	if (info->array_job_id && info->array_task_id != NO_VAL)
		snprintf(job->id, sizeof(job->id), "%u_%u", info->array_job_id,
			 info->array_task_id);
	else if (info->array_job_id && info->array_task_str)
		snprintf(job->id, sizeof(job->id), "%u_[%s]",
			 info->array_job_id, info->array_task_str);
	else if (info->het_job_id && info->het_job_id != NO_VAL)
		snprintf(job->id, sizeof(job->id), "%u+%u", info->het_job_id,
			 info->het_job_offset);
	else
		snprintf(job->id, sizeof(job->id), "%u", info->job_id);
}

/* gres_detail_str[i] is for the i-th node of the job's list. */
static void read_spots(const slurm_job_info_t *info, struct plx_view_job *job)
{
	plx_hostlist nodes = slurm_hostlist_create(info->nodes);
	char *node;

	for (uint32_t i = 0; nodes && (node = slurm_hostlist_shift(nodes));
	     i++) {
		int gpus = 0;

		if (i < info->gres_detail_cnt)
			gpus = plx_gres_gpus(info->gres_detail_str[i]);
		if (gpus > 0)
			plx_spots_add(job->spots, node, gpus);
		job->gpus += gpus;
		free(node);
	}
	slurm_hostlist_destroy(nodes);
}

static void read_job(const slurm_job_info_t *info, int64_t now_s,
		     struct plx_view_job *job)
{
	uint32_t state = info->job_state & JOB_STATE_BASE;

	*job = (struct plx_view_job){ .state = "?" };
	read_id(info, job);
	snprintf(job->name, sizeof(job->name), "%s",
		 info->name ? info->name : "");
	if (state < JOB_END)
		job->state = state_names[state];
	job->running = state == JOB_RUNNING;
	if (!job->running)
		read_reason(info, job);
	else if (info->nodes)
		read_spots(info, job);
	if (state != JOB_PENDING && info->start_time > 0) {
		int64_t end_s = job->running ? now_s : info->end_time;

		if (end_s > info->start_time)
			job->ran_s = end_s - info->start_time;
	}
	plx_view_read(job, info->comment, info->system_comment);
}

/* Muted: libslurm complains aloud when none is configured. */
static bool ping_backup(void)
{
	int saved = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 3);
	int null = open("/dev/null", O_WRONLY | O_CLOEXEC);
	bool alive;

	if (saved >= 0 && null >= 0)
		dup2(null, STDERR_FILENO);
	alive = slurm_ping(1) == SLURM_SUCCESS;
	if (saved >= 0) {
		dup2(saved, STDERR_FILENO);
		close(saved);
	}
	if (null >= 0)
		close(null);
	return alive;
}

/*
 * libslurm tries for MessageTimeout to reach a slurmctld that is not there; a
 * ping fails at once.
 */
static int ping(struct plx_error *err)
{
	if (slurm_ping(0) == SLURM_SUCCESS || ping_backup())
		return 0;
	return plx_fail(err, "slurmctld does not answer; is it running?");
}

static int load_jobs(struct plx_view *view, struct plx_error *err)
{
	job_info_msg_t *msg = NULL;

	if (slurm_load_jobs(0, &msg, SHOW_DETAIL) != SLURM_SUCCESS)
		return plx_fail(err, "slurmctld does not answer: %s",
				slurm_strerror(errno));
	view->jobs = calloc(msg->record_count + 1, sizeof(*view->jobs));
	for (uint32_t i = 0; view->jobs && i < msg->record_count; i++)
		read_job(&msg->job_array[i], view->now_s,
			 &view->jobs[view->count++]);
	plx_slurm_free_jobs(msg);
	return view->jobs ? 0 : plx_fail(err, "out of memory");
}

static int load_nodes(struct plx_view *view, struct plx_error *err)
{
	node_info_msg_t *msg = NULL;

	if (slurm_load_node(0, &msg, SHOW_DETAIL) != SLURM_SUCCESS)
		return plx_fail(err, "slurmctld does not answer: %s",
				slurm_strerror(errno));
	for (uint32_t i = 0; i < msg->record_count; i++) {
		const node_info_t *node = &msg->node_array[i];

		if (!node->name)
			continue;
		view->nodes++;
		view->gpus += plx_gres_gpus(node->gres);
		view->gpus_busy += plx_gres_gpus(node->gres_used);
	}
	slurm_free_node_info_msg(msg);
	return 0;
}

int plx_view_load(struct plx_view *view, struct plx_error *err)
{
	struct plx_view look = { .now_s = time(NULL) };

	if (ping(err) < 0 || load_nodes(&look, err) < 0 ||
	    load_jobs(&look, err) < 0) {
		plx_view_release(&look);
		return -1;
	}
	*view = look;
	return 0;
}
