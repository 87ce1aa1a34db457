/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * resize_request.c - a resize, from the request to the new shape
 * (docs/resize.md)
 */

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "sched/pollux/snapshot/snapshot_read.h"
#include "sched/pollux/acct/acct.h"
#include "sched/pollux/locks.h"
#include "sched/pollux/monotonic.h"
#include "sched/pollux/resize/resize.h"
#include "sched/pollux/resize/announce.h"
#include "sched/pollux/resize/constrain.h"
#include "sched/pollux/resize/node_devices.h"
#include "sched/pollux/resize/resize_request.h"
#include "sched/pollux/record.h"
#include "sched/pollux/resize/lost.h"
#include "sched/pollux/resize/target_shape.h"
#include "sched/pollux/resize/notify.h"
#include "sched/pollux/start/migrate.h"
#include "sched/pollux/report/count.h"

/* How far ahead of the record an answer may be. */
#define SERIALS_LOST 1000
/* Of a program that waits for another slurmctld. */
#define ASLEEP_MOST_S 300

/* What a job is to have. */
struct wish {
	struct pollux_shape shape;
	const char *why;
	double timeout_s; /* for the answer */
	double busy_s;	  /* more, while it is busy */
	bool move;	  /* the whole job, its script included */
	bool at_once;	  /* without asking it */
	bool overdue;	  /* also where it cannot answer */
};

/* When this slurmctld began to answer. */
static double ready_s;

void pollux_resize_begin(void)
{
	ready_s = pollux_now_s();
}

/* Libslurm has a client that met a backup too early sleep for half of that. */
static double _answer_due_s(double timeout_s)
{
	double asleep_s =
		fmin(slurm_conf.slurmctld_timeout / 2.0, ASLEEP_MOST_S);
	double now_s = pollux_now_s();

	if (slurm_conf.control_cnt > 1)
		now_s = fmax(now_s, ready_s + asleep_s);
	return now_s + timeout_s;
}

/*
 * Never one that was used before, not even by a slurmctld that was killed
 * before it saved its state: the launcher may have answered that already.
 */
static uint32_t _next_serial(const job_record_t *job,
			     const struct pollux_job_state *state,
			     const struct plx_status *status)
{
	struct plx_target target;
	uint32_t last = state->target.serial;

	if (plx_target_read(job->system_comment, &target, NULL) == 1)
		last = MAX(last, target.serial);
	if (status->ack > last && status->ack - last < SERIALS_LOST)
		last = status->ack;
	return last + 1;
}

static int _ask(job_record_t *job, const struct plx_status *status,
		const struct wish *wish, struct plx_error *err)
{
	struct pollux_job_state *state = pollux_job_state_get(job->job_id);
	char *names = NULL;

	if (pollux_target_shape_write(&wish->shape, &state->target, &names,
				      err) < 0)
		return -1;
	xfree(state->want);
	state->want = names;
	state->target.serial = _next_serial(job, state, status);
	state->target.cold =
		wish->move || pollux_target_shape_is_apart(job, &wish->shape);
	state->target.move = wish->move;
	state->target.accrued = 0;
	state->target.left_s = 0;
	state->from_gpus = pollux_record_gpu_count(job);
	state->phase = POLLUX_REQUESTED;
	state->timeout_s = wish->timeout_s;
	state->busy_s = wish->busy_s;
	state->excused = false;
	state->keeps = false;
	/* A job that is to go to the queue may have no more time than that. */
	state->deadline_s = wish->move ? pollux_now_s() + wish->timeout_s
				       : _answer_due_s(wish->timeout_s);
	state->woken_s = pollux_now_s();
	state->wakes = 0;
	pollux_announce(job, state, PLX_TARGET_REQUESTED, wish->why);
	pollux_notify_launcher(job, status);
	pollux_count(POLLUX_DID_ASK);
	pollux_info("sched/pollux: JobId=%u asked for %d GPUs on %s, serial "
		    "%u%s: %s",
		    job->job_id, plx_target_gpus(&state->target), state->want,
		    state->target.serial,
		    !wish->move	       ? ""
		    : wish->shape.gpus ? ", to be moved"
				       : ", to wait in the queue",
		    state->target.why);
	return 0;
}

/* Are the nodes of the shape still those that had their numbers then? */
static bool _means_the_same(const struct pollux_snapshot *snapshot,
			    const struct pollux_shape *shape)
{
	bool same = snapshot->node_count == node_record_count;

	if (!same)
		return false;
	for (int n = pollux_slurm_first_node(shape->nodes);
	     same && n < node_record_count;
	     n = pollux_slurm_node_after(shape->nodes, n)) {
		const node_record_t *node = node_record_table_ptr[n];

		same = !xstrcmp(node ? node->name : NULL,
				snapshot->nodes[n].name);
	}
	return same;
}

/* Is it what it was when we looked, and can it be asked at all? */
static bool _may_ask(job_record_t *job, const struct pollux_snapshot *snapshot,
		     const struct pollux_job *seen, const struct wish *wish,
		     struct plx_status *status)
{
	if (!job || !_means_the_same(snapshot, &wish->shape) ||
	    !pollux_record_runs(job) ||
	    pollux_record_since(job) != seen->since ||
	    xstrcmp(job->nodes, seen->shape))
		return false;
	/* It would stop, and then wait until slurmdbd is back. */
	if (!pollux_acct_ready(job) && pollux_acct_away())
		return false;
	pollux_record_status(job, status);
	return status->launcher != PLX_WAKE_NONE || seen->runs || wish->overdue;
}

/* What it is started on has to be even, as any request of Slurm's. */
static int _level(struct wish *wish, const struct pollux_job *seen,
		  struct plx_error *err)
{
	if (!wish->move || !wish->shape.counts)
		return 0;
	pollux_shape_level(&wish->shape, &seen->options.sizes);
	if (pollux_shape_gpus(&wish->shape) >= seen->options.min_gpus)
		return 0;
	return plx_fail(err, "it cannot start on different numbers of GPUs");
}

/* Nobody is to answer: it is put back into the queue now. */
static bool _requeue(job_record_t *job)
{
	struct pollux_job_state *state = pollux_job_state_get(job->job_id);
	int from = pollux_record_gpu_count(job);
	struct plx_error err;

	if (pollux_migrate_depart(job, state, &err) < 0) {
		pollux_refuse(job, state, &err);
		return false;
	}
	pollux_count_resize(
		plx_resize_kind_of(from, plx_target_gpus(&state->target)));
	return true;
}

/*
 * A part of what it has, as much on each node: there is nothing that it could
 * be refused.
 */
static bool _only_gives(const job_record_t *job,
			const struct pollux_shape *shape)
{
	int *held = xcalloc(node_record_count, sizeof(*held));
	bool only =
		!shape->counts && bit_super_set(shape->nodes, job->node_bitmap);

	pollux_record_gpus(job, held);
	for (int n = pollux_slurm_first_node(shape->nodes);
	     only && n < node_record_count;
	     n = pollux_slurm_node_after(shape->nodes, n))
		only = pollux_shape_on(shape, n) <= held[n];
	xfree(held);
	return only;
}

/*
 * A job that trains on until it has its shape loses nothing where that is not
 * to be had: it is told when it has answered (resize_states.c, _overlap()).
 * What it was planned to have need not be tried before that. Where it was
 * refused last it would be asked in vain, and what a bound job or whole nodes
 * can have in the end may be less than what they have meanwhile.
 */
static bool _is_found_out(const job_record_t *job, const struct wish *wish)
{
	const struct pollux_job_state *state =
		pollux_job_state_find(job->job_id);

	return !wish->move && wish->shape.gpus && state && state->trains_on &&
	       !state->refusals && !pollux_devices_are_bound(job) &&
	       !pollux_slurm_whole_nodes(job) &&
	       !pollux_target_shape_is_apart(job, &wish->shape);
}

/*
 * A job that is moved starts anew, where its steps from before could begin: on
 * nodes that it had it has to have no less (rules/left_nodes.h).
 */
static int _test_common(const job_record_t *job,
			const struct pollux_shape *shape, struct plx_error *err)
{
	int *held = NULL;
	int rc = 0;

	if (!shape->gpus || !pollux_constrain_wanted())
		return 0;
	held = xcalloc(node_record_count, sizeof(*held));
	pollux_record_gpus(job, held);
	for (int n = 0; rc == 0 && n < node_record_count; n++) {
		int has = pollux_shape_on(shape, n);

		if (has && has < held[n])
			rc = plx_fail_as(err, PLX_REFUSED_NODES,
					 "moved, it would have %d GPUs of %s, "
					 "and has %d",
					 has, node_record_table_ptr[n]->name,
					 held[n]);
	}
	xfree(held);
	return rc;
}

/* Can it have that, as far as this has to be known before it is asked? */
static int _can_have(job_record_t *job, const struct wish *wish,
		     struct plx_error *err)
{
	if (!wish->at_once &&
	    (_only_gives(job, &wish->shape) || _is_found_out(job, wish)))
		return 0;
	if (wish->move && _test_common(job, &wish->shape, err) < 0)
		return -1;
	return pollux_resize_test(job, &wish->shape, err);
}

/* Of requests that follow one another. */
static struct {
	bool many;
	bool locked;
} hold;

void pollux_requests_begin(void)
{
	hold.many = true;
}

void pollux_requests_end(void)
{
	if (hold.locked)
		pollux_unlock(POLLUX_REQUESTING);
	hold.many = hold.locked = false;
}

void pollux_requests_yield(void)
{
	if (hold.locked)
		pollux_lock_yield(POLLUX_REQUESTING);
}

static void _lock(void)
{
	if (hold.locked)
		pollux_requests_yield();
	else
		pollux_lock(POLLUX_REQUESTING);
	hold.locked = true;
}

static void _unlock(void)
{
	if (hold.many)
		return;
	pollux_unlock(POLLUX_REQUESTING);
	hold.locked = false;
}

static bool _try(const struct pollux_snapshot *snapshot, int j,
		 struct wish *wish)
{
	const struct pollux_job *seen = &snapshot->jobs[j];
	job_record_t *job = NULL;
	struct plx_status status;
	struct plx_error err;
	bool asked = false;

	_lock();
	job = find_job_record(seen->id);
	if (!_may_ask(job, snapshot, seen, wish, &status) ||
	    (wish->move
		     ? !pollux_record_may_requeue(job)
		     : !pollux_target_shape_host(job, &status, &wish->shape)))
		goto done;
	/* No GPU, and not on the batch host: it will wait in the queue. */
	if (((wish->move && !wish->shape.gpus) ||
	     (_level(wish, seen, &err) == 0 &&
	      _can_have(job, wish, &err) == 0)) &&
	    _ask(job, &status, wish, &err) == 0)
		asked = !wish->at_once || _requeue(job);
	else
		pollux_leave_alone(job, pollux_job_state_get(seen->id), &err);
done:
	pollux_lost_end();
	_unlock();
	return asked;
}

static bool _wish(const struct pollux_snapshot *snapshot, int j,
		  const int *gpus, struct wish wish)
{
	bool asked = false;

	wish.shape = pollux_shape_of(gpus, snapshot->node_count,
				     snapshot->jobs[j].batch_host);
	asked = _try(snapshot, j, &wish);
	pollux_shape_release(&wish.shape);
	return asked;
}

bool pollux_resize_request(const struct pollux_snapshot *snapshot, int j,
			   const int *gpus, const char *why,
			   const struct pollux_params *params)
{
	return _wish(snapshot, j, gpus,
		     (struct wish){ .why = why,
				    .timeout_s = params->ack_timeout_s,
				    .busy_s = params->busy_s });
}

bool pollux_resize_request_least(const struct pollux_snapshot *snapshot, int j,
				 const int *gpus, const char *why,
				 const struct pollux_params *params)
{
	return _wish(snapshot, j, gpus,
		     (struct wish){ .why = why,
				    .timeout_s = params->ack_timeout_s,
				    .overdue = true });
}

bool pollux_migrate_ask(const struct pollux_snapshot *snapshot, int j,
			const int *gpus, const char *why,
			const struct pollux_params *params)
{
	return _wish(snapshot, j, gpus,
		     (struct wish){ .why = why,
				    .timeout_s = params->ack_timeout_s,
				    .move = true });
}

bool pollux_migrate_at_once(const struct pollux_snapshot *snapshot, int j,
			    const int *gpus, const char *why)
{
	return _wish(
		snapshot, j, gpus,
		(struct wish){ .why = why, .move = true, .at_once = true });
}

void pollux_resize_request_again(struct pollux_job_state *state,
				 const struct plx_target *target,
				 const struct pollux_params *params)
{
	state->target = *target;
	state->from_gpus = state->gpus;
	state->phase = target->state == PLX_TARGET_LENT ? POLLUX_LENT
							: POLLUX_REQUESTED;
	state->steps_before = 0;
	state->woken_s = 0;
	state->wakes = 0;
	state->timeout_s = params->ack_timeout_s;
	state->unconfirmed_s = params->unconfirmed_s;
	state->busy_s = target->move ? 0 : params->busy_s;
	state->excused = false;
	state->keeps = false;
	state->deadline_s = _answer_due_s(params->ack_timeout_s);
	if (state->phase == POLLUX_LENT)
		state->deadline_s += POLLUX_OVERLAP_S;
	xfree(state->want);
	if (target->on[0])
		state->want = xstrdup(target->on);
	pollux_info("sched/pollux: JobId=%u was asked for %d GPUs, serial %u, "
		    "before "
		    "slurmctld was started: waiting for the answer",
		    state->job_id, plx_target_gpus(target), target->serial);
}
