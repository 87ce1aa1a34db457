/* SPDX-License-Identifier: GPL-2.0-or-later */
/* requeue.c - elastic jobs that Slurm put back into the queue */

#include <string.h>

#include "common/elastic.h"
#include "core/section.h"
#include "core/target.h"
#include "job_submit/pollux/shape.h"
#include "sched/pollux/held.h"
#include "sched/pollux/record.h"
#include "sched/pollux/resize/request.h"
#include "sched/pollux/start/evict.h"
#include "sched/pollux/start/move.h"
#include "sched/pollux/start/requeue.h"
#include "sched/pollux/track.h"

/* It only says why it waits: see evict.h. */
static bool _only_explains(const job_record_t *job,
			   const struct plx_target *target)
{
	struct plx_status status;

	return target->state == PLX_TARGET_NONE && !target->serial &&
	       (pollux_record_is_moldable(job) ||
		plx_status_read(job->comment, &status, NULL) == 0);
}

bool pollux_requeued(const job_record_t *job)
{
	const struct pollux_track *track = NULL;
	struct plx_target target;
	int found = 0;

	if (!job->restart_cnt || !job->system_comment || !job->details ||
	    !IS_JOB_PENDING(job) || IS_JOB_COMPLETING(job))
		return false;
	track = pollux_track_find(job->job_id);
	if (track && track->phase == POLLUX_MOVING)
		return false;
	if (!elastic_text(job->spank_job_env, job->spank_job_env_size))
		return false;
	found = plx_target_read(job->system_comment, &target, NULL);
	return found < 0 || (found > 0 && !_only_explains(job, &target));
}

void pollux_requeue_forget(char **comment)
{
	size_t size = 0;
	char *text = NULL;

	if (!*comment)
		return;
	size = strlen(*comment) + PLX_COMMENT_MAX;
	text = xmalloc(size);
	if (plx_section_put(*comment, NULL, text, size, NULL) == 0) {
		xfree(*comment);
		*comment = text[0] ? xstrdup(text) : NULL;
	}
	xfree(text);
}

static void _reset(job_record_t *job)
{
	char type[POLLUX_GPU_TYPE_SIZE];
	struct elastic_nodes nodes =
		elastic_read_nodes(job->spank_job_env, job->spank_job_env_size);
	struct shape_request request = { .min_nodes = nodes.min,
					 .max_nodes = nodes.max,
					 .type = type };
	struct shape_cluster cluster;
	struct pollux_request saved;
	struct plx_options options;
	struct shape shape;
	struct plx_error err;

	/* An old acknowledgement must not answer a new target. */
	pollux_requeue_forget(&job->system_comment);
	if (!pollux_record_is_moldable(job))
		pollux_requeue_forget(&job->comment);
	/* Slurm leaves it; accounting would take the new run for the old. */
	job->resize_time = 0;
	pollux_job_gpu_type(job, type);
	cluster = pollux_gpu_cluster(type);
	if (elastic_options(job->spank_job_env, job->spank_job_env_size,
			    &options, &err) != 1 ||
	    shape_choose(&options, &request, &cluster, &shape, &err) < 0) {
		error("sched/pollux: JobId=%u was requeued as it was: %s",
		      job->job_id, err.text);
		return;
	}
	pollux_request_save(job, &saved);
	if (pollux_request_write_counts(job, (int) shape.nodes,
					(int) shape.gpus_per_node, &saved,
					&err) < 0) {
		error("sched/pollux: JobId=%u was requeued as it was: %s",
		      job->job_id, err.text);
		pollux_request_restore(job, &saved);
		return;
	}
	pollux_request_keep(job, &saved);
	pollux_info(
		"sched/pollux: JobId=%u was requeued and will start on %u GPUs",
		job->job_id, shape.nodes * shape.gpus_per_node);
}

/*
 * Was it put into the queue while it was moved, or right after: before its
 * new run had said anything?
 */
static bool _was_moved(const job_record_t *job, struct plx_target *target)
{
	struct plx_status status;

	if (plx_target_read(job->system_comment, target, NULL) != 1 ||
	    !target->move)
		return false;
	return target->state == PLX_TARGET_MOVING ||
	       target->state == PLX_TARGET_ASKED ||
	       (!pollux_record_is_moldable(job) &&
		plx_status_read(job->comment, &status, NULL) == 0);
}

void pollux_requeue_let(job_record_t *job)
{
	struct plx_target target;

	if (_was_moved(job, &target))
		pollux_move_mend(job, &target);
	_reset(job);
}

static void _look_after(job_record_t *job)
{
	struct plx_target target;

	if (_was_moved(job, &target) && target.state == PLX_TARGET_MOVING &&
	    target.on[0] && !pollux_evicts(&target))
		pollux_move_adopt(job, &target);
	else
		pollux_requeue_let(job);
}

void pollux_requeue_reset(const uint32_t *ids, int count)
{
	pollux_lock(POLLUX_ASKING);
	for (int i = 0; i < count; i++) {
		job_record_t *job = find_job_record(ids[i]);

		if (job && pollux_requeued(job))
			_look_after(job);
		pollux_breathe(POLLUX_ASKING);
	}
	last_job_update = time(NULL);
	pollux_unlock(POLLUX_ASKING);
}
