/* SPDX-License-Identifier: GPL-2.0-or-later */
/* requeue.c - elastic jobs that Slurm put back into the queue */

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/section.h"
#include "core/records/target.h"
#include "job_submit/pollux/shape.h"
#include "sched/pollux/job_options.h"
#include "sched/pollux/locks.h"
#include "sched/pollux/record.h"
#include "sched/pollux/resize/extend.h"
#include "sched/pollux/resize/request.h"
#include "sched/pollux/resize/target_shape.h"
#include "sched/pollux/rules/left_nodes.h"
#include "sched/pollux/rules/slurmds.h"
#include "sched/pollux/start/requeue.h"
#include "sched/pollux/job_state.h"

/*
 * Once each: what Slurm holds again is held for another reason. The newest of
 * them; under the locks on jobs.
 */
static struct {
	uint32_t ids[100];
	unsigned int next;
} released;

/* It only says why it waits: see evict.h. */
static bool _only_explains(const job_record_t *job,
			   const struct plx_target *target)
{
	struct plx_status status;

	return target->state == PLX_TARGET_NONE && !target->serial &&
	       (pollux_record_is_moldable(job) ||
		plx_status_read(job->comment, &status, NULL) == 0);
}

static bool _is_held(const job_record_t *job)
{
	return !job->priority && job->state_reason == FAIL_BAD_CONSTRAINTS;
}

static bool _was_released(uint32_t id)
{
	for (size_t i = 0; i < ARRAY_SIZE(released.ids); i++) {
		if (released.ids[i] == id)
			return true;
	}
	return false;
}

/* In which shape it starts if nothing else is said. -1 with err set. */
static int _smallest(const job_record_t *job, struct shape *shape,
		     struct plx_error *err)
{
	char type[POLLUX_GPU_TYPE_SIZE];
	struct shape_request request = { .type = type };
	struct shape_cluster cluster;
	struct pollux_job_options asked;

	if (!pollux_job_options(job, &asked))
		return plx_fail(err, "its --scheduler-params makes no sense");
	request.min_nodes = asked.nodes.min;
	request.max_nodes = asked.nodes.max;
	pollux_job_gpu_type(job, type);
	request.whole = job->part_ptr && (pollux_slurm_whole_nodes(job) ||
					  !job->part_ptr->max_share);
	cluster = pollux_gpu_cluster(
		type, request.whole ? job->part_ptr->node_bitmap : NULL);
	return shape_choose(&asked.options, &request, &cluster, shape, err);
}

/* It was started on more nodes than it asked for (spread_start.h). */
static bool _is_spread(const job_record_t *job)
{
	struct pollux_job_options asked;
	struct plx_error err;
	struct shape shape;

	if (job->details->min_nodes < 2 || job->details->min_nodes >= NO_VAL)
		return false;
	(void) pollux_job_options(job, &asked);
	return !asked.nodes.pack && _smallest(job, &shape, &err) == 0 &&
	       job->details->min_nodes > shape.nodes;
}

/*
 * Its last run is over, and Slurm still knows what it had; or only where, after
 * it has tried in vain to start it.
 */
static bool _remembers(const job_record_t *job)
{
	return job->restart_cnt && job->batch_flag && job->details &&
	       (job->job_resrcs || job->nodes) && !job->epilog_running &&
	       IS_JOB_PENDING(job) && !IS_JOB_COMPLETING(job);
}

/*
 * Its last run still ends, and it may start as soon as it is over. Slurm delays
 * it when it forgets that run; but where the run's last node is lost, Slurm
 * does neither, and may start it in the same millisecond.
 */
static bool _hurries(const job_record_t *job)
{
	return job->batch_flag && job->details && IS_JOB_PENDING(job) &&
	       IS_JOB_COMPLETING(job) && job->details->begin_time <= time(NULL);
}

/* As Slurm delays it: no credential of its last run is valid any more. */
static int _delay_s(void)
{
	return pollux_slurmds_credential_s() + 1;
}

void pollux_requeue_finish(job_record_t *job)
{
	if (!_remembers(job))
		return;
	pollux_info("sched/pollux: JobId=%u has lost its last node while it "
		    "was put into the queue, and forgets its run",
		    job->job_id);
	batch_requeue_fini(job);
	last_job_update = time(NULL);
}

bool pollux_requeued(const job_record_t *job)
{
	const struct pollux_job_state *state = NULL;
	struct plx_target target;
	int found = 0;

	/* Also one that is moved: nothing else keeps Slurm from it. */
	if (IS_JOB_COMPLETING(job))
		return _hurries(job);
	if (!job->restart_cnt || !job->details || !IS_JOB_PENDING(job))
		return false;
	state = pollux_job_state_find(job->job_id);
	if (state && state->phase == POLLUX_MOVING)
		return false;
	if (_remembers(job))
		return true;
	if (!pollux_is_elastic(job))
		return false;
	if (_is_held(job) && !_was_released(job->job_id))
		return true;
	if (_is_spread(job))
		return true;
	if (!job->system_comment)
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

void pollux_requeue_unhold(job_record_t *job, uint32_t priority)
{
	if (!_is_held(job))
		return;
	job->direct_set_prio = 0;
	job->state_reason = WAIT_NO_REASON;
	xfree(job->state_desc);
	if (priority)
		job->priority = priority;
	else
		set_job_prio(job);
	last_job_update = time(NULL);
	released.ids[released.next++ % ARRAY_SIZE(released.ids)] = job->job_id;
	pollux_info(
		"sched/pollux: JobId=%u was held for a request that it does "
		"not have any more, and is released",
		job->job_id);
}

/*
 * Slurm goes back to these whenever it looks at a limit of a job that waits:
 * with the CPUs of all GPUs that the user named, the least could not start.
 */
static void _forget_original(job_details_t *details)
{
	details->orig_min_cpus = details->min_cpus;
	details->orig_max_cpus = details->max_cpus;
	details->orig_pn_min_cpus = details->pn_min_cpus;
}

int pollux_requeue_shape(job_record_t *job)
{
	struct pollux_request saved;
	struct plx_error err;
	struct shape shape;

	if (_smallest(job, &shape, &err) < 0) {
		error("sched/pollux: JobId=%u was requeued as it was: %s",
		      job->job_id, err.text);
		return 0;
	}
	pollux_request_save(job, &saved);
	if (pollux_request_write_counts(job, (int) shape.nodes,
					(int) shape.gpus_per_node, &saved,
					&err) < 0) {
		error("sched/pollux: JobId=%u was requeued as it was: %s",
		      job->job_id, err.text);
		pollux_request_restore(job, &saved);
		return 0;
	}
	pollux_request_keep(job, &saved);
	_forget_original(job->details);
	return (int) (shape.nodes * shape.gpus_per_node);
}

/* Its next run has the time limit that its user, or an operator, gave it. */
static void _take_time_back(job_record_t *job)
{
	struct plx_target target;
	uint32_t minutes = 0;

	if (plx_target_read(job->system_comment, &target, NULL) != 1 ||
	    !target.given_s || !pollux_extend_is_ours(job, &target))
		return;
	minutes = pollux_given_minutes(target.given_s);
	if (job->time_limit != INFINITE && job->time_limit != NO_VAL &&
	    job->time_limit > minutes)
		job->time_limit -= minutes;
}

/*
 * Slurm leaves it; accounting would take the new run for the old. A run's row
 * is found by its submission, which Slurm has differ from that of the run
 * before, but not from that of its last row.
 */
static void _forget_resize(job_record_t *job)
{
	struct pollux_job_state *state = pollux_job_state_find(job->job_id);

	if (job->resize_time >= job->details->submit_time) {
		if (state) /* which has no second */
			pollux_job_state_close(state, job->resize_time);
		job->details->submit_time = job->resize_time + 1;
	}
	job->resize_time = 0;
}

void pollux_requeue_mend(job_record_t *job, const struct plx_target *target)
{
	job_details_t *details = job->details;

	details->begin_time = 0;
	_forget_resize(job);
	if (!target->accrued)
		return;
	/*
	 * Slurm counts who gets older; it has to begin that itself, and does
	 * for a job that has a time to begin.
	 */
	details->begin_time = time(NULL);
	(void) acct_policy_handle_accrue_time(job, false);
	details->begin_time = 0;
	if (details->accrue_time > target->accrued)
		details->accrue_time = target->accrued;
}

static void _reset(job_record_t *job)
{
	int gpus = 0;

	_take_time_back(job);
	/* An old acknowledgement must not answer a new target. */
	pollux_requeue_forget(&job->system_comment);
	if (!pollux_record_is_moldable(job))
		pollux_requeue_forget(&job->comment);
	_forget_resize(job);
	/* See pollux_account_tell_once(). */
	job->bit_flags &= ~TRES_STR_CALC;
	/* See pollux_hosts_watch(). */
	job->kill_on_node_fail = 0;
	gpus = pollux_requeue_shape(job);
	pollux_requeue_unhold(job, 0);
	if (gpus)
		pollux_info("sched/pollux: JobId=%u was requeued and will "
			    "start on %d GPUs",
			    job->job_id, gpus);
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
	       target->state == PLX_TARGET_REQUESTED ||
	       (!pollux_record_is_moldable(job) &&
		plx_status_read(job->comment, &status, NULL) == 0);
}

void pollux_requeue_let(job_record_t *job)
{
	struct plx_target target;
	double left_s = 0;

	if (_was_moved(job, &target))
		pollux_requeue_mend(job, &target);
	_reset(job);
	/* As Slurm has jobs wait that it requeues. */
	left_s = pollux_left_s(job->job_id);
	if (left_s > 0)
		job->details->begin_time =
			MAX(job->details->begin_time,
			    time(NULL) + (time_t) ceil(left_s));
}

static void _look_after(job_record_t *job)
{
	struct plx_target target;

	if (_hurries(job)) {
		job->details->begin_time = time(NULL) + _delay_s();
		return;
	}
	pollux_requeue_finish(job);
	if (!pollux_is_elastic(job))
		return;
	if (_was_moved(job, &target) && target.state == PLX_TARGET_MOVING &&
	    target.on[0] && !pollux_evicts(&target))
		pollux_job_state_adopt(job->job_id, &target);
	else
		pollux_requeue_let(job);
}

void pollux_requeue_reset(const uint32_t *ids, int count)
{
	pollux_lock(POLLUX_REQUESTING);
	for (int i = 0; i < count; i++) {
		job_record_t *job = find_job_record(ids[i]);

		if (job && pollux_requeued(job))
			_look_after(job);
		pollux_lock_yield(POLLUX_REQUESTING);
	}
	last_job_update = time(NULL);
	pollux_unlock(POLLUX_REQUESTING);
}
