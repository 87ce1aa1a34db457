/* SPDX-License-Identifier: GPL-2.0-or-later */
/* notify.c - signals to a job's launcher and steps */

#include <signal.h>
#include <string.h>

#include "sched/pollux/locks.h"
#include "sched/pollux/record.h"
#include "sched/pollux/monotonic.h"
#include "sched/pollux/resize/notify.h"

#define AGAIN_S 2 /* before the next signal; doubles, */
#define TIMES	3 /* so often */

/* The script's process group; shells ignore SIGURG as everybody does. */
static void _wake_batch(const job_record_t *job)
{
	node_record_t *node = find_node_record(job->batch_host);
	signal_tasks_msg_t *message = NULL;
	agent_arg_t *agent = NULL;

	if (!node)
		return;
	message = xmalloc(sizeof(*message));
	message->step_id.job_id = job->job_id;
	message->step_id.step_id = SLURM_BATCH_SCRIPT;
	message->step_id.step_het_comp = NO_VAL;
	message->signal = SIGURG;
	message->flags = KILL_FULL_JOB;

	agent = xmalloc(sizeof(*agent));
	agent->msg_type = REQUEST_SIGNAL_TASKS;
	agent->protocol_version = node->protocol_version;
	agent->node_count = 1;
	agent->hostlist = hostlist_create(job->batch_host);
	agent->msg_args = message;
	set_agent_arg_r_uid(agent, SLURM_AUTH_UID_ANY);
	pollux_send(agent);
}

void pollux_notify_launcher(job_record_t *job, const struct plx_status *status)
{
	step_record_t *step = NULL;
	slurm_step_id_t id = {
		.job_id = job->job_id,
		.step_het_comp = NO_VAL,
		.step_id = status->launcher,
	};

	if (status->launcher == PLX_WAKE_BATCH) {
		if (job->batch_flag && job->batch_host)
			_wake_batch(job);
		return;
	}
	if (status->launcher >= SLURM_MAX_NORMAL_STEP_ID || !job->step_list)
		return;
	step = find_step_record(job, &id);
	if (step && step->state == JOB_RUNNING && step->step_node_bitmap)
		signal_step_tasks(step, SIGURG, REQUEST_SIGNAL_TASKS);
}

void pollux_notify_again(job_record_t *job, struct pollux_job_state *state)
{
	double now_s = pollux_now_s();
	struct plx_status status;

	if (state->phase != POLLUX_REQUESTED || !job ||
	    !pollux_record_runs(job) ||
	    now_s < state->woken_s + AGAIN_S * (1 << MIN(state->wakes, TIMES)))
		return;
	pollux_record_status(job, &status);
	if (status.ack == state->target.serial)
		return;
	state->woken_s = now_s;
	state->wakes++;
	pollux_notify_launcher(job, &status);
}

void pollux_kill_steps(job_record_t *job, const struct plx_status *status,
		       uint32_t from, uint32_t before)
{
	slurm_step_id_t *ids = NULL;
	ListIterator iter = NULL;
	step_record_t *step = NULL;
	int count = 0;

	if (!job->step_list)
		return;
	ids = xcalloc(list_count(job->step_list) + 1, sizeof(*ids));
	iter = list_iterator_create(job->step_list);
	while ((step = list_next(iter))) {
		if (pollux_record_is_rank(job, step, status, from, before))
			ids[count++] = step->step_id;
	}
	list_iterator_destroy(iter);
	for (int i = 0; i < count; i++)
		(void) job_step_signal(&ids[i], SIGKILL, 0, 0);
	xfree(ids);
}
