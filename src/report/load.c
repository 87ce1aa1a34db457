/* SPDX-License-Identifier: GPL-2.0-or-later */
/* load.c - one look at the cluster through libslurm (cluster_view.h) */

#define _GNU_SOURCE

#include <fcntl.h>
#include <pwd.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "client/libslurm.h"
#include "report/cluster_view.h"

#define MARK "pollux: " /* begins the comment of a node that is closed */

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
static void read_placement(const slurm_job_info_t *info, struct plx_view *view,
			   size_t job)
{
	plx_hostlist nodes = slurm_hostlist_create(info->nodes);
	char *node;

	for (uint32_t i = 0; nodes && (node = slurm_hostlist_shift(nodes));
	     i++) {
		if (i < info->gres_detail_cnt)
			plx_view_hold(view, job, node,
				      info->gres_detail_str[i]);
		free(node);
	}
	slurm_hostlist_destroy(nodes);
}

/* slurmctld does not always tell it, and a look-up may ask a server. */
static void read_user(const slurm_job_info_t *info, struct plx_view_job *job)
{
	static struct {
		uint32_t uid;
		char name[sizeof(job->user)];
	} known[64];
	size_t at = info->user_id % 64;
	char buffer[4096];
	struct passwd entry;
	struct passwd *found = NULL;

	if (info->user_name) {
		snprintf(job->user, sizeof(job->user), "%s", info->user_name);
		return;
	}
	if (!known[at].name[0] || known[at].uid != info->user_id) {
		if (getpwuid_r(info->user_id, &entry, buffer, sizeof(buffer),
			       &found) == 0 &&
		    found)
			snprintf(known[at].name, sizeof(known[at].name), "%s",
				 found->pw_name);
		else
			snprintf(known[at].name, sizeof(known[at].name), "%u",
				 info->user_id);
		known[at].uid = info->user_id;
	}
	snprintf(job->user, sizeof(job->user), "%s", known[at].name);
}

static void read_times(const slurm_job_info_t *info, int64_t now_s,
		       struct plx_view_job *job)
{
	job->submit_s = info->submit_time;
	if (info->time_limit != INFINITE && info->time_limit != NO_VAL)
		job->limit_s = 60 * (int64_t) info->time_limit;
	if (job->waiting || info->start_time <= 0)
		return;
	job->start_s = info->start_time;
	job->ran_s = (job->running ? now_s : info->end_time) - job->start_s;
	if (job->ran_s < 0)
		job->ran_s = 0;
	if (info->resize_time > info->start_time)
		job->changed_s = info->resize_time;
}

static void read_job(const slurm_job_info_t *info, struct plx_view *view)
{
	uint32_t state = info->job_state & JOB_STATE_BASE;
	struct plx_view_job *job = &view->jobs[view->count];

	*job = (struct plx_view_job){ .state = "?", .was_gpus = -1 };
	job->number = info->job_id;
	read_id(info, job);
	read_user(info, job);
	snprintf(job->name, sizeof(job->name), "%s",
		 info->name ? info->name : "");
	snprintf(job->account, sizeof(job->account), "%s",
		 info->account ? info->account : "");
	snprintf(job->partition, sizeof(job->partition), "%s",
		 info->partition ? info->partition : "");
	if (state < JOB_END)
		job->state = state_names[state];
	job->running = state == JOB_RUNNING;
	job->waiting = state == JOB_PENDING;
	if (!job->running)
		read_reason(info, job);
	else if (info->nodes)
		read_placement(info, view, view->count);
	read_times(info, view->now_s, job);
	plx_view_read(job, info->comment, info->system_comment);
	view->count++;
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

static int by_number(const void *a, const void *b)
{
	const slurm_job_info_t *x = a;
	const slurm_job_info_t *y = b;

	return (x->job_id > y->job_id) - (x->job_id < y->job_id);
}

static int load_jobs(struct plx_view *view, struct plx_error *err)
{
	job_info_msg_t *msg = NULL;

	if (slurm_load_jobs(0, &msg, SHOW_DETAIL) != SLURM_SUCCESS)
		return plx_fail(err, "slurmctld does not answer: %s",
				slurm_strerror(errno));
	if (msg->record_count)
		qsort(msg->job_array, msg->record_count,
		      sizeof(*msg->job_array), by_number);
	view->jobs = calloc(msg->record_count + 1, sizeof(*view->jobs));
	for (uint32_t i = 0; view->jobs && i < msg->record_count; i++)
		read_job(&msg->job_array[i], view);
	plx_slurm_free_jobs(msg);
	return view->jobs ? 0 : plx_fail(err, "out of memory");
}

static const char *node_state(uint32_t state)
{
	uint32_t base = state & NODE_STATE_BASE;

	if (state & (NODE_STATE_POWERED_DOWN | NODE_STATE_POWERING_DOWN))
		return "off";
	if (base == NODE_STATE_DOWN || base == NODE_STATE_FUTURE ||
	    base == NODE_STATE_UNKNOWN || (state & NODE_STATE_NO_RESPOND))
		return "down";
	if (state & (NODE_STATE_DRAIN | NODE_STATE_FAIL | NODE_STATE_MAINT))
		return "drained";
	return "up";
}

static void read_node(const node_info_t *info, struct plx_view *view)
{
	struct plx_view_node *node = &view->nodes[view->node_count++];

	snprintf(node->name, sizeof(node->name), "%s", info->name);
	node->state = node_state(info->node_state);
	/* The plugin says so, see report/marks.h there. */
	if (!strcmp(node->state, "up") && info->comment &&
	    !strncmp(info->comment, MARK, strlen(MARK)))
		node->state = "sick";
	node->gpus = plx_gres_gpus(info->gres);
	node->busy = plx_gres_gpus(info->gres_used);
	view->gpus += node->gpus;
	view->gpus_busy += node->busy;
}

static int load_nodes(struct plx_view *view, node_info_msg_t **msg,
		      struct plx_error *err)
{
	if (slurm_load_node(0, msg, SHOW_DETAIL) != SLURM_SUCCESS)
		return plx_fail(err, "slurmctld does not answer: %s",
				slurm_strerror(errno));
	view->nodes = calloc((*msg)->record_count + 1, sizeof(*view->nodes));
	for (uint32_t i = 0; view->nodes && i < (*msg)->record_count; i++) {
		if ((*msg)->node_array[i].name)
			read_node(&(*msg)->node_array[i], view);
	}
	plx_view_sort_nodes(view);
	return view->nodes ? 0 : plx_fail(err, "out of memory");
}

/* GPUs that no job told of; the node's own word on them. */
static void find_unknown(struct plx_view *view, const node_info_msg_t *msg)
{
	for (uint32_t i = 0; i < msg->record_count; i++) {
		const node_info_t *info = &msg->node_array[i];

		if (info->name)
			plx_view_unknown(view, info->name, info->gres_used);
	}
}

int plx_view_load(struct plx_view *view, struct plx_error *err)
{
	struct plx_view look = { .now_s = time(NULL) };
	node_info_msg_t *nodes = NULL;
	int rc = -1;

	if (ping(err) == 0 && load_nodes(&look, &nodes, err) == 0 &&
	    load_jobs(&look, err) == 0) {
		find_unknown(&look, nodes);
		*view = look;
		rc = 0;
	} else {
		plx_view_release(&look);
	}
	if (nodes)
		slurm_free_node_info_msg(nodes);
	return rc;
}
