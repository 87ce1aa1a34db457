/* SPDX-License-Identifier: GPL-2.0-or-later */
/* ask.c - a resize, from the request to the new shape (docs/resize.md) */

#include <stdio.h>
#include <string.h>

#include "sched/pollux/acct/acct.h"
#include "sched/pollux/held.h"
#include "sched/pollux/resize/ask.h"
#include "sched/pollux/resize/lend.h"
#include "sched/pollux/resize/place.h"
#include "sched/pollux/record.h"
#include "sched/pollux/resize/want.h"
#include "sched/pollux/resize/wake.h"
#include "sched/pollux/tell/count.h"

/* For killed steps to be gone. */
#define KILL_WAIT_S 60
/* For new ranks to take over from the old ones, beyond an answer's time. */
#define LEND_S 90
/* A job that was refused is left alone, longer each time. */
#define STILL_S	    15
#define STILL_STEPS 5
/* How far ahead of the record an answer may be. */
#define SERIALS_LOST 1000

enum verdict {
	WAIT,
	DROP,	 /* the job is not there any more */
	LEND,	 /* its ranks train on: give before we take */
	MOVE,	 /* all is quiet: resize */
	KILL,	 /* it did not answer */
	CLEAR,	 /* it has, but the old ranks are still there */
	GIVE_UP, /* nor did its steps end */
};

double pollux_now_s(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double) now.tv_sec + 1e-9 * (double) now.tv_nsec;
}

static void _read_status(const job_record_t *job, struct plx_status *status)
{
	if (plx_status_read(job->comment, status, NULL) < 1) {
		memset(status, 0, sizeof(*status));
		status->launcher = PLX_WAKE_NONE;
	}
}

/*
 * Accounting tells shapes apart by the second in which they began, and can
 * close one only once that has its number there.
 */
static bool _may_end(const job_record_t *job)
{
	time_t now = time(NULL);

	return now > pollux_record_since(job) &&
	       now > job->details->submit_time && pollux_acct_ready(job);
}

/* The shape as a set of nodes. The caller's to free; gpus 0: parked. */
static struct pollux_shape _shape(const struct pollux_view *view,
				  const int *gpus, int home)
{
	struct pollux_shape shape = { .nodes = bit_alloc(view->node_count) };

	for (int n = 0; n < view->node_count; n++) {
		if (gpus[n] <= 0)
			continue;
		bit_set(shape.nodes, n);
		shape.gpus = gpus[n];
	}
	if (!shape.gpus)
		bit_set(shape.nodes, home);
	return shape;
}

/* What is given back goes with nodes that the launcher has to know. */
static void _name_nodes(struct pollux_track *track, char *want)
{
	xfree(track->want);
	track->want = want;
	track->target.on[0] = '\0';
	if (strlen(want) < sizeof(track->target.on))
		strcpy(track->target.on, want);
}

static void _publish(job_record_t *job, struct pollux_track *track,
		     enum plx_target_state state, const char *why)
{
	track->target.state = state;
	if (why)
		snprintf(track->target.why, sizeof(track->target.why), "%.*s",
			 (int) sizeof(track->target.why) - 1, why);
	pollux_record_publish(job, &track->target);
	schedule_job_save();
}

/* It stays as it is for a while, longer each time. */
static void _leave_alone(const job_record_t *job, struct pollux_track *track,
			 const char *why)
{
	int steps = MIN(track->refusals, STILL_STEPS);

	track->refusals++;
	snprintf(track->refused, sizeof(track->refused), "%.*s",
		 (int) sizeof(track->refused) - 1, why);
	pollux_count_refusal(why);
	track->still_until_s = pollux_now_s() + STILL_S * (1 << steps);
	info("sched/pollux: JobId=%u keeps its %d GPUs: %s", job->job_id,
	     pollux_record_gpu_count(job), why);
}

static void _refuse(job_record_t *job, struct pollux_track *track,
		    const char *why)
{
	track->phase = POLLUX_IDLE;
	_publish(job, track, PLX_TARGET_REFUSED, why);
	_leave_alone(job, track, why);
}

/*
 * Never one that was used before, not even by a slurmctld that was killed
 * before it saved its state: the launcher may have answered that already.
 */
static uint32_t _next_serial(const job_record_t *job,
			     const struct pollux_track *track,
			     const struct plx_status *status)
{
	struct plx_target target;
	uint32_t last = track->target.serial;

	if (plx_target_read(job->system_comment, &target, NULL) == 1)
		last = MAX(last, target.serial);
	if (status->ack > last && status->ack - last < SERIALS_LOST)
		last = status->ack;
	return last + 1;
}

static void _ask(job_record_t *job, const struct plx_status *status,
		 const struct pollux_shape *shape, const char *why,
		 double timeout_s)
{
	struct pollux_track *track = pollux_track_get(job->job_id);
	int nodes = bit_set_count(shape->nodes);

	track->target.serial = _next_serial(job, track, status);
	track->target.nodes = nodes;
	track->target.gpus_per_node = shape->gpus;
	track->target.cold = false;
	track->from_gpus = pollux_record_gpu_count(job);
	_name_nodes(track, bitmap2node_name(shape->nodes));
	track->phase = POLLUX_ASKED;
	track->timeout_s = timeout_s;
	track->deadline_s = pollux_now_s() + timeout_s;
	_publish(job, track, PLX_TARGET_ASKED, why);
	pollux_wake(job, status);
	pollux_count(POLLUX_DID_ASK);
	info("sched/pollux: JobId=%u asked for %d GPUs on %s, serial %u: %s",
	     job->job_id, nodes * shape->gpus, track->want,
	     track->target.serial, track->target.why);
}

bool pollux_ask(const struct pollux_view *view, int j, const int *gpus,
		const char *why, const struct pollux_params *params)
{
	const struct pollux_job *seen = &view->jobs[j];
	struct pollux_shape shape = _shape(view, gpus, seen->home);
	struct plx_status status;
	struct plx_error err;
	job_record_t *job = NULL;
	bool asked = false;

	pollux_lock(POLLUX_ASKING);
	job = find_job_record(seen->id);
	if (!job || !pollux_view_same_nodes(view) || !pollux_record_runs(job) ||
	    pollux_record_since(job) != seen->since ||
	    xstrcmp(job->nodes, seen->shape))
		goto done;
	/* It would stop, and then wait until slurmdbd is back. */
	if (!pollux_acct_ready(job) && pollux_acct_away())
		goto done;
	_read_status(job, &status);
	if (status.launcher == PLX_WAKE_NONE && !seen->runs)
		goto done;
	if (!pollux_keeps_home(job, &status, shape.nodes))
		goto done;
	if (pollux_resize_test(job, &shape, &err) < 0) {
		_leave_alone(job, pollux_track_get(seen->id), err.text);
		goto done;
	}
	_ask(job, &status, &shape, why, params->ack_timeout_s);
	asked = true;
done:
	pollux_unlock(POLLUX_ASKING);
	FREE_NULL_BITMAP(shape.nodes);
	return asked;
}

void pollux_ask_again(struct pollux_track *track,
		      const struct plx_target *target,
		      const struct pollux_params *params)
{
	track->target = *target;
	track->from_gpus = track->gpus;
	track->phase =
		target->state == PLX_TARGET_LENT ? POLLUX_LENT : POLLUX_ASKED;
	track->steps_before = 0;
	track->timeout_s = params->ack_timeout_s;
	track->deadline_s = pollux_now_s() + params->ack_timeout_s;
	if (track->phase == POLLUX_LENT)
		track->deadline_s += LEND_S;
	xfree(track->want);
	if (target->on[0])
		track->want = xstrdup(target->on);
	info("sched/pollux: JobId=%u was asked for %d GPUs, serial %u, before "
	     "slurmctld was started: waiting for the answer",
	     track->job_id, target->nodes * target->gpus_per_node,
	     target->serial);
}

static bool _is_answered(const struct pollux_track *track,
			 const struct plx_status *status)
{
	return status->ack == track->target.serial && !status->live;
}

/* Do steps begun on a loan hold no more than the job is to keep of it? */
static bool _suits(job_record_t *job, const struct pollux_track *track,
		   const struct plx_status *status)
{
	struct pollux_shape shape = { NULL };
	struct plx_error err;
	bool suits = true;

	/* One that cannot be had is told as such when it is tried. */
	if (job->step_list && track->want &&
	    pollux_want(job, track, status, &shape, &err) == 0)
		suits = pollux_place_suits(job, status, &shape);
	pollux_shape_release(&shape);
	return suits;
}

/* Are the ranks gone that must be, before the job gets its new shape? */
static bool _has_left(job_record_t *job, const struct pollux_track *track,
		      const struct plx_status *status)
{
	uint32_t before = POLLUX_ALL_STEPS;

	if (track->phase == POLLUX_LENT)
		before = track->steps_before;
	if (track->phase != POLLUX_KILLED && !_is_answered(track, status))
		return false;
	if (pollux_record_steps(job, status, before) > 0)
		return false;
	return track->phase != POLLUX_LENT || _suits(job, track, status);
}

static enum verdict _judge(job_record_t *job, struct pollux_track *track,
			   struct plx_status *status)
{
	double now_s = pollux_now_s();

	if (!job || !(IS_JOB_RUNNING(job) || IS_JOB_SUSPENDED(job)) ||
	    IS_JOB_COMPLETING(job))
		return DROP;
	if (!pollux_record_runs(job)) {
		/* Suspended: nobody can answer, so its time stands still. */
		track->deadline_s = now_s + track->timeout_s;
		return WAIT;
	}
	_read_status(job, status);
	if (status->ack == track->target.serial && status->live &&
	    track->phase == POLLUX_ASKED && !track->target.cold)
		return _may_end(job) ? LEND : WAIT;
	if (_has_left(job, track, status))
		return _may_end(job) ? MOVE : WAIT;
	if (now_s < track->deadline_s)
		return WAIT;
	if (track->phase == POLLUX_LENT && _is_answered(track, status) &&
	    pollux_record_steps(job, status, track->steps_before) > 0)
		return CLEAR;
	return track->phase == POLLUX_KILLED ? GIVE_UP : KILL;
}

static int _move(job_record_t *job, struct pollux_track *track,
		 const struct plx_status *status, struct plx_error *err)
{
	struct pollux_shape shape;
	int rc = pollux_want(job, track, status, &shape, err);

	if (rc == 0)
		rc = pollux_resize(job, &shape, err);
	pollux_shape_release(&shape);
	return rc;
}

static void _done(job_record_t *job, struct pollux_track *track,
		  double locked_s)
{
	int gpus = pollux_record_gpu_count(job);

	track->refusals = 0;
	track->refused[0] = '\0';
	pollux_count_resize(plx_resize_kind_of(track->from_gpus, gpus));
	track->phase = POLLUX_IDLE;
	_publish(job, track, gpus ? PLX_TARGET_DONE : PLX_TARGET_PARKED, NULL);
	info("sched/pollux: JobId=%u has %d GPUs on %s, serial %u (lock held "
	     "%.2f ms)",
	     job->job_id, gpus, job->nodes, track->target.serial,
	     1e3 * (pollux_now_s() - locked_s));
	pollux_track_hold(track, job->nodes, gpus, pollux_record_since(job));
}

/* Its ranks have to leave first, as the new shape is not to be had beside. */
static void _ask_cold(job_record_t *job, struct pollux_track *track,
		      const struct plx_error *err)
{
	track->target.cold = true;
	_publish(job, track, PLX_TARGET_ASKED, NULL);
	info("sched/pollux: JobId=%u has to stop first, serial %u: %s",
	     job->job_id, track->target.serial, err->text);
}

/* The old shape is there until the launcher says that it is not needed. */
static void _lent(job_record_t *job, struct pollux_track *track,
		  double locked_s)
{
	track->phase = POLLUX_LENT;
	track->deadline_s = pollux_now_s() + track->timeout_s + LEND_S;
	_publish(job, track, PLX_TARGET_LENT, NULL);
	info("sched/pollux: JobId=%u hands over on %d GPUs on %s, serial %u "
	     "(lock held %.2f ms)",
	     job->job_id, pollux_record_gpu_count(job), job->nodes,
	     track->target.serial, 1e3 * (pollux_now_s() - locked_s));
	pollux_track_hold(track, job->nodes, pollux_record_gpu_count(job),
			  pollux_record_since(job));
}

/* True when it got its shape already. */
static bool _lend(job_record_t *job, struct pollux_track *track,
		  const struct plx_status *status, double locked_s)
{
	struct pollux_shape want = { NULL };
	struct pollux_shape lent = { NULL };
	enum pollux_lending kind = POLLUX_LEND_NOTHING;
	struct plx_error err;
	struct plx_error same;
	bool vain = false;
	int rc = pollux_want(job, track, status, &want, &err);

	if (rc == 0) {
		kind = pollux_lend(job, &want, &lent);
		if (!want.gpus || !lent.gpus || !track->target.on[0])
			rc = plx_fail(&err, "no GPU to train on meanwhile, or "
					    "too many nodes to name");
		else if (kind != POLLUX_LEND_NOTHING)
			rc = pollux_resize(job, &lent, &err);
		/* Nor without what it has: no reason to stop its ranks. */
		vain = rc < 0 && want.gpus &&
		       pollux_resize_test(job, &want, &same) < 0;
	}
	pollux_shape_release(&want);
	pollux_shape_release(&lent);
	track->steps_before = job->next_step_id;
	if (vain)
		_refuse(job, track, same.text);
	else if (rc < 0)
		_ask_cold(job, track, &err);
	else if (kind == POLLUX_LEND_NEW)
		_done(job, track, locked_s);
	else
		_lent(job, track, locked_s);
	return rc == 0 && kind == POLLUX_LEND_NEW;
}

static void _kill(job_record_t *job, struct pollux_track *track,
		  const struct plx_status *status)
{
	info("sched/pollux: JobId=%u did not answer in %.0f s, its steps are "
	     "killed",
	     job->job_id, track->timeout_s);
	pollux_count(POLLUX_WAS_OVERDUE);
	pollux_count(POLLUX_DID_KILL);
	pollux_kill_steps(job, status, POLLUX_ALL_STEPS);
	track->phase = POLLUX_KILLED;
	track->deadline_s = pollux_now_s() + KILL_WAIT_S;
}

/* True when it got its shape. */
static bool _act(job_record_t *job, struct pollux_track *track,
		 enum verdict verdict, const struct plx_status *status)
{
	double locked_s = pollux_now_s();
	struct plx_error err;
	bool moved = false;

	switch (verdict) {
	case WAIT:
		return false;
	case DROP:
		track->phase = POLLUX_IDLE;
		return false;
	case LEND:
		moved = _lend(job, track, status, locked_s);
		pollux_wake(job, status);
		return moved;
	case KILL:
		_kill(job, track, status);
		return false;
	case CLEAR:
		pollux_count(POLLUX_DID_KILL);
		pollux_kill_steps(job, status, track->steps_before);
		track->deadline_s = locked_s + KILL_WAIT_S;
		return false;
	case GIVE_UP:
		_refuse(job, track, "its steps do not end");
		pollux_wake(job, status);
		return false;
	case MOVE:
		break;
	}
	if (_move(job, track, status, &err) < 0) {
		/* A node may still be busy with another job's end. */
		if (track->phase == POLLUX_LENT && locked_s < track->deadline_s)
			return false;
		_refuse(job, track, err.text);
		pollux_wake(job, status);
		return false;
	}
	_done(job, track, locked_s);
	pollux_wake(job, status);
	return true;
}

/* Judged again under the write lock: it may not be so any more. */
static bool _touch(struct pollux_track *track)
{
	struct plx_status status;
	job_record_t *job = NULL;
	bool moved = false;

	pollux_lock(POLLUX_TOUCH);
	job = find_job_record(track->job_id);
	moved = _act(job, track, _judge(job, track, &status), &status);
	pollux_unlock(POLLUX_TOUCH);
	return moved;
}

static bool _is_due(struct pollux_track *track)
{
	struct plx_status status;
	enum verdict verdict = WAIT;

	pollux_lock(POLLUX_JUDGE);
	verdict = _judge(find_job_record(track->job_id), track, &status);
	pollux_unlock(POLLUX_JUDGE);
	return verdict != WAIT;
}

bool pollux_ask_tick(void)
{
	struct pollux_track *track = NULL;
	bool moved = false;

	for (int i = 0; (track = pollux_track_at(i)); i++) {
		if (track->phase != POLLUX_IDLE && _is_due(track))
			moved |= _touch(track);
	}
	return moved;
}
