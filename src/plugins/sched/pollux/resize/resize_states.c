/* SPDX-License-Identifier: GPL-2.0-or-later */
/* resize_states.c - what becomes of a job that was asked (docs/resize.md) */

#include <signal.h>

#include "core/records/refusal.h"
#include "sched/pollux/acct/acct.h"
#include "sched/pollux/locks.h"
#include "sched/pollux/plan/sick_nodes.h"
#include "sched/pollux/monotonic.h"
#include "sched/pollux/resize/resize.h"
#include "sched/pollux/resize/announce.h"
#include "sched/pollux/resize/resize_request.h"
#include "sched/pollux/resize/back.h"
#include "sched/pollux/resize/constrain.h"
#include "sched/pollux/resize/overlap.h"
#include "sched/pollux/resize/lost.h"
#include "sched/pollux/resize/gres_alloc.h"
#include "sched/pollux/resize/prolog.h"
#include "sched/pollux/record.h"
#include "sched/pollux/resize/target_shape.h"
#include "sched/pollux/resize/notify.h"
#include "sched/pollux/rules/slurmds.h"
#include "sched/pollux/start/migrate.h"
#include "sched/pollux/report/count.h"

/* For killed steps to be gone. */
#define KILL_WAIT_S 60

/*
 * Steps of a job at once: each is looked at again and again under the lock, and
 * killed one by one. A launcher has a few.
 */
#define STEPS_MAX 1024
#define CROWD	  "it has more than %d steps at once"

/* The clock is not taken to be set back for less. */
#define CLOCK_BACK_S 5

enum verdict {
	WAIT,
	DROP,	 /* the job is not there any more */
	OVERLAP, /* its ranks train on: give before we take */
	COMMIT,	 /* all is quiet: resize */
	KILL,	 /* it did not answer */
	CLEAR,	 /* it has, but the old ranks are still there */
	GIVE_UP, /* nor did its steps end: end it */
	AGAIN,	 /* prologs on new nodes have to be started again */
	READY,	 /* they have ended */
	UNDO,	 /* one has failed */
	BACK,	 /* the new ranks have: it gets what it had */
	KEEP,	 /* they would, on any node, or it has too many steps for
		  * more: it keeps what it has */
	CUT,	 /* they are still there */
	ARRIVE,	 /* a job on its way may be started */
};

/* Has this second ended? Or it is so far ahead that the clock was set back. */
static bool _is_past(time_t second, time_t now)
{
	return now > second || now < second - CLOCK_BACK_S;
}

/*
 * Accounting tells shapes apart by the second in which they began, and can
 * close one only once that has its number there.
 */
static bool _may_end(const job_record_t *job)
{
	time_t now = time(NULL);

	return _is_past(pollux_record_since(job), now) &&
	       _is_past(job->details->submit_time, now) &&
	       pollux_acct_ready(job);
}

static bool _is_answered(const struct pollux_job_state *state,
			 const struct plx_status *status)
{
	return status->ack == state->target.serial && !status->live;
}

/* Do steps begun on a loan hold no more than the job is to keep of it? */
static bool _suits(job_record_t *job, const struct pollux_job_state *state,
		   const struct plx_status *status)
{
	struct pollux_shape shape = { NULL };
	struct plx_error err;
	bool suits = true;

	/* One that cannot be had is told as such when it is tried. */
	if (job->step_list && state->want &&
	    pollux_target_shape(job, state, status, &shape, &err) == 0)
		suits = pollux_gres_suits(job, &shape);
	pollux_shape_release(&shape);
	return suits;
}

/* Are the ranks gone that must be, before the job gets its new shape? */
static bool _has_left(job_record_t *job, const struct pollux_job_state *state,
		      const struct plx_status *status)
{
	uint32_t before = POLLUX_ALL_STEPS;

	if (state->phase == POLLUX_LENT)
		before = state->steps_before;
	if (state->phase != POLLUX_KILLED && !_is_answered(state, status))
		return false;
	if (pollux_record_steps(job, status, before) > 0)
		return false;
	if (state->phase != POLLUX_LENT)
		return true;
	/* slurmctld may have been started since: then no number tells. */
	return !pollux_record_outlived(job) && _suits(job, state, status);
}

static enum verdict _judge_prolog(const job_record_t *job,
				  struct pollux_job_state *state)
{
	switch (pollux_prolog_look(job, state)) {
	case POLLUX_PROLOG_RUNS:
		break;
	case POLLUX_PROLOG_AGAIN:
		return AGAIN;
	case POLLUX_PROLOG_ENDED:
		return READY;
	case POLLUX_PROLOG_FAILED:
		return _may_end(job) ? UNDO : WAIT;
	}
	return WAIT;
}

/*
 * Its next ranks fail wherever they are started, and nothing was given to it
 * yet: as the program was broken by an edit, say.
 */
static bool _cannot(job_record_t *job, const struct pollux_job_state *state,
		    const struct plx_status *status)
{
	if (!pollux_back_asked(state, status) || !status->failed.why[0] ||
	    status->failed.nodes[0] || !status->live)
		return false;
	if (state->phase == POLLUX_REQUESTED)
		return true;
	return state->phase == POLLUX_LENT &&
	       pollux_record_gpu_count(job) == state->from_gpus &&
	       pollux_back_clear(job, state, status);
}

/*
 * A job that is to have less may say so for as long as it may be busy: others
 * wait for what it keeps meanwhile. It pays for the time since it said so last,
 * as far as it was left alone for that.
 */
static bool _may_keep(struct pollux_job_state *state, double now_s)
{
	double since_s = state->kept_s ? now_s - state->kept_s : 0;
	bool may = false;

	if (plx_target_gpus(&state->target) > state->from_gpus)
		return true;
	may = state->busy_s > 0 && !state->lapse &&
	      state->validation.strikes != PLX_STRIKES_TWO &&
	      plx_excuse_pay(&state->excuse, now_s,
			     MIN(since_s, pollux_alone_s(state)),
			     state->busy_s);
	if (may)
		state->kept_s = now_s;
	return may;
}

/* The new ranks have failed, the old ones may train on meanwhile. */
static enum verdict _judge_back(job_record_t *job,
				const struct pollux_job_state *state,
				const struct plx_status *status)
{
	if (pollux_back_clear(job, state, status))
		return _may_end(job) ? BACK : WAIT;
	return pollux_now_s() < state->deadline_s ? WAIT : CUT;
}

/*
 * Its time is up, but a rank is busy, and would have to do all that again. What
 * is said by a job that nobody believes is no reason.
 */
static bool _has_more(struct pollux_job_state *state,
		      const struct plx_status *status, double now_s)
{
	double more_s = 0;

	if (!status->busy || state->phase == POLLUX_KILLED || state->lapse ||
	    state->validation.strikes == PLX_STRIKES_TWO)
		return false;
	more_s = plx_excuse_grant(&state->excuse, now_s, state->timeout_s,
				  state->busy_s);
	if (more_s <= 0)
		return false;
	state->deadline_s = now_s + more_s;
	if (!state->excused)
		pollux_info("sched/pollux: JobId=%u has ranks that are busy: "
			    "waiting for them, for up to %.0f s",
			    state->job_id,
			    state->busy_s - state->excuse.spent_s + more_s);
	state->excused = true;
	return true;
}

/*
 * slurmctld was started after it was asked, say, and one of its nodes has not
 * registered yet: Slurm would refuse what it gives to all others in a moment.
 */
static bool _is_early(const struct pollux_job_state *state, double now_s)
{
	bitstr_t *nodes = NULL;
	bool early = false;

	if (state->phase != POLLUX_REQUESTED || now_s >= state->deadline_s ||
	    pollux_slurmds_settled())
		return false;
	/* Nodes that were forgotten may be any. */
	if (state->want)
		(void) pollux_slurm_nodes(state->want, &nodes);
	for (int n = 0; n < node_record_count && !early; n++) {
		const node_record_t *node = node_record_table_ptr[n];

		early = node && (!nodes || bit_test(nodes, n)) &&
			pollux_slurmds_awaited(node);
	}
	FREE_NULL_BITMAP(nodes);
	return early;
}

/* It has done its part: may the job get its shape in this moment? */
static enum verdict _when_due(const job_record_t *job,
			      const struct pollux_job_state *state,
			      enum verdict due, double now_s)
{
	return _may_end(job) && !_is_early(state, now_s) ? due : WAIT;
}

static bool _is_crowded(const job_record_t *job)
{
	return job->step_list && list_count(job->step_list) > STEPS_MAX;
}

/* Who is to give something up is ended; nobody waits for the others. */
static enum verdict _judge_crowded(const struct pollux_job_state *state)
{
	return state->phase == POLLUX_REQUESTED &&
			       plx_target_gpus(&state->target) >=
				       state->from_gpus
		       ? KEEP
		       : GIVE_UP;
}

static enum verdict _judge(job_record_t *job, struct pollux_job_state *state,
			   struct plx_status *status)
{
	double now_s = pollux_now_s();

	if (state->phase == POLLUX_MOVING)
		return pollux_migrate_due(job, state) ? ARRIVE : WAIT;
	if (!job || !(IS_JOB_RUNNING(job) || IS_JOB_SUSPENDED(job)) ||
	    IS_JOB_COMPLETING(job))
		return DROP;
	if (!pollux_record_runs(job)) {
		/* Suspended: nobody can answer, so its time stands still. */
		state->deadline_s = now_s + state->timeout_s;
		return WAIT;
	}
	pollux_record_status(job, status);
	/* It has given up all that it was to. */
	if (state->phase == POLLUX_READIED)
		return _judge_prolog(job, state);
	if (_is_crowded(job))
		return _judge_crowded(state);
	if (state->phase == POLLUX_BACK)
		return _judge_back(job, state, status);
	if (_cannot(job, state, status)) {
		state->keeps = state->keeps || _may_keep(state, now_s);
		if (state->keeps)
			return KEEP;
		return now_s < state->deadline_s ? WAIT : KILL;
	}
	/* It is heard first, see plan/sick_nodes.h; but not for ever. */
	if (state->phase == POLLUX_LENT && pollux_back_asked(state, status) &&
	    now_s < state->deadline_s)
		return WAIT;
	if (status->ack == state->target.serial && status->live &&
	    state->phase == POLLUX_REQUESTED && !state->target.cold)
		return _when_due(job, state, OVERLAP, now_s);
	if (_has_left(job, state, status))
		return _when_due(job, state, COMMIT, now_s);
	if (now_s < state->deadline_s || _has_more(state, status, now_s))
		return WAIT;
	if (state->phase == POLLUX_LENT && _is_answered(state, status) &&
	    pollux_record_steps(job, status, state->steps_before) > 0)
		return CLEAR;
	return state->phase == POLLUX_KILLED ? GIVE_UP : KILL;
}

static int _commit(job_record_t *job, struct pollux_job_state *state,
		   const struct plx_status *status, struct plx_error *err)
{
	struct pollux_shape shape;
	int rc = pollux_target_shape(job, state, status, &shape, err);

	pollux_prolog_before(job, state);
	/* Not what it had together with what it was lent. */
	if (state->phase != POLLUX_LENT)
		pollux_back_before(job, state);
	if (rc == 0)
		rc = pollux_resize(job, &shape, err);
	pollux_shape_release(&shape);
	return rc;
}

static void _note_shape(const job_record_t *job, struct pollux_job_state *state)
{
	pollux_job_state_hold(state, job->nodes, pollux_record_gpu_count(job),
			      pollux_record_since(job));
}

static void _done(job_record_t *job, struct pollux_job_state *state,
		  double locked_s)
{
	int gpus = pollux_record_gpu_count(job);

	state->refusals = 0;
	pollux_stuck_clear(&state->stuck);
	state->refused[0] = '\0';
	pollux_count_resize(plx_resize_kind_of(state->from_gpus, gpus));
	state->phase = POLLUX_IDLE;
	pollux_announce(job, state, gpus ? PLX_TARGET_DONE : PLX_TARGET_PARKED,
			NULL);
	pollux_info("sched/pollux: JobId=%u has %d GPUs on %s, serial %u (lock "
		    "held "
		    "%.2f ms)",
		    job->job_id, gpus, job->nodes, state->target.serial,
		    1e3 * (pollux_now_s() - locked_s));
	_note_shape(job, state);
}

/* Its ranks have to leave first, as the new shape is not to be had beside. */
static void _ask_cold(job_record_t *job, struct pollux_job_state *state,
		      const struct plx_error *err)
{
	state->target.cold = true;
	pollux_announce(job, state, PLX_TARGET_REQUESTED, NULL);
	pollux_info("sched/pollux: JobId=%u has to stop first, serial %u: %s",
		    job->job_id, state->target.serial, err->text);
}

/* The old shape is there until the launcher says that it is not needed. */
static void _lent(job_record_t *job, struct pollux_job_state *state,
		  double locked_s)
{
	state->phase = POLLUX_LENT;
	state->deadline_s =
		pollux_now_s() + state->timeout_s + POLLUX_OVERLAP_S;
	pollux_announce(job, state, PLX_TARGET_LENT, NULL);
	pollux_info(
		"sched/pollux: JobId=%u hands over on %d GPUs on %s, serial %u "
		"(lock held %.2f ms)",
		job->job_id, pollux_record_gpu_count(job), job->nodes,
		state->target.serial, 1e3 * (pollux_now_s() - locked_s));
	_note_shape(job, state);
}

/* It has the shape, and may use it when prologs have ended on new nodes. */
static void _has_shape(job_record_t *job, struct pollux_job_state *state,
		       bool overlaps, double locked_s)
{
	state->overlaps = overlaps;
	if (pollux_prolog_after(job, state))
		state->phase = POLLUX_READIED;
	else if (overlaps)
		_lent(job, state, locked_s);
	else
		_done(job, state, locked_s);
}

/*
 * It does not answer, and its steps do not end, or it starts others all the
 * time: its GPUs are to be had from the whole job alone.
 */
static void _end(job_record_t *job, struct pollux_job_state *state,
		 const char *why)
{
	bool requeue = pollux_record_may_requeue(job);

	error("sched/pollux: JobId=%u keeps GPUs that others wait for, as %s: "
	      "the whole job is %s",
	      job->job_id, why,
	      requeue ? "put back into the queue" : "cancelled");
	pollux_stuck_clear(&state->stuck);
	state->phase = POLLUX_IDLE;
	if (requeue && pollux_slurm_requeue(job) == SLURM_SUCCESS)
		return;
	(void) job_signal(job, SIGKILL, 0, 0, false);
}

/* err: what its nodes did not confirm. */
static void _end_stuck(job_record_t *job, struct pollux_job_state *state,
		       const struct plx_error *err)
{
	char *why = xstrdup_printf(
		"its processes do not end: %s, %d times in %.0f s, though all "
		"are there (see slurmd's log there; a TaskProlog, home "
		"directory or disk that hangs looks the same)",
		err->text, state->stuck.tries,
		pollux_now_s() - state->stuck.since_s);

	_end(job, state, why);
	xfree(why);
}

/*
 * Has slurmctld heard of all its nodes in this row? What does not answer at all
 * is Slurm's to take for lost; who keeps slurmd from answering us alone is not.
 */
static bool _are_there(const job_record_t *job,
		       const struct pollux_job_state *state)
{
	time_t since =
		time(NULL) - (time_t) (pollux_now_s() - state->stuck.since_s);

	for (int n = pollux_slurm_first_node(job->node_bitmap);
	     n < node_record_count;
	     n = pollux_slurm_node_after(job->node_bitmap, n)) {
		if (node_record_table_ptr[n]->last_response < since)
			return false;
	}
	return true;
}

/*
 * Of a resize: nodes are being told, or the job is ended. Otherwise *rc is 0 or
 * -1.
 */
static bool _is_held_up(job_record_t *job, struct pollux_job_state *state,
			int *rc, const struct plx_error *err)
{
	if (*rc == POLLUX_RESTLESS)
		_end(job, state, err->text);
	if (*rc == POLLUX_STUCK || *rc == POLLUX_UNHEARD) {
		if (pollux_stuck_again(&state->stuck, pollux_now_s(),
				       state->unconfirmed_s) &&
		    (*rc == POLLUX_STUCK || _are_there(job, state)))
			_end_stuck(job, state, err);
		else
			*rc = -1;
	}
	return *rc > 0;
}

/*
 * The same, of one that gives up all that is to be given up: any other answer
 * ends the row of those that say that processes do not end. One that only takes
 * more meanwhile does not.
 */
static bool _is_last_held_up(job_record_t *job, struct pollux_job_state *state,
			     int *rc, const struct plx_error *err)
{
	if (*rc <= 0)
		pollux_stuck_clear(&state->stuck);
	return _is_held_up(job, state, rc, err);
}

/* False while nodes are told what it gives up. */
static bool _undo(job_record_t *job, struct pollux_job_state *state)
{
	char *nodes = NULL;
	bool failed = false;
	struct plx_error err;
	struct plx_error why;
	int rc = pollux_prolog_undo(job, state, &err);

	if (_is_last_held_up(job, state, &rc, &err))
		return false;
	nodes = pollux_prolog_failed(state);
	pollux_sick_prolog(job, nodes);
	failed = nodes && nodes[0];
	xfree(nodes);
	plx_fail_as(&why, PLX_REFUSED_NODES,
		    failed ? "the prolog failed on one of %.60s"
			   : "one of %.60s was lost before its prolog ended",
		    state->fresh);
	if (rc < 0)
		error("sched/pollux: JobId=%u keeps nodes where the prolog "
		      "failed: %s",
		      job->job_id, err.text);
	_note_shape(job, state);
	pollux_refuse(job, state, &why);
	/* Slurm offers no lost node: others may be tried at once. */
	if (!failed)
		state->still_until_s = 0;
	return true;
}

/* False while nodes are told what it gives up. */
static bool _back(job_record_t *job, struct pollux_job_state *state,
		  const struct plx_status *status)
{
	struct plx_error why;
	struct plx_error err;
	int rc = pollux_back(job, state, status, &err);

	if (_is_last_held_up(job, state, &rc, &err))
		return false;
	if (rc < 0)
		error("sched/pollux: JobId=%u keeps nodes where its ranks "
		      "failed: %s",
		      job->job_id, err.text);
	_note_shape(job, state);
	if (status->failed.why[0] && !status->failed.nodes[0])
		plx_fail_as(&why, PLX_REFUSED_RANKS, PLX_FAILED_SAYS "%s",
			    status->failed.why);
	else
		plx_fail_as(&why, PLX_REFUSED_RANKS,
			    "its ranks failed on %.127s%s",
			    status->failed.nodes[0]
				    ? status->failed.nodes
				    : "nodes that it was to gain",
			    state->elsewhere ? ", not offered to it for a while"
					     : "");
	pollux_refuse(job, state, &why);
	/* The nodes are closed to it: others may be tried at once. */
	if (state->elsewhere)
		state->still_until_s = 0;
	return true;
}

static void _keep(job_record_t *job, struct pollux_job_state *state,
		  const struct plx_status *status)
{
	struct plx_error why;

	if (_is_crowded(job))
		plx_fail_as(&why, PLX_REFUSED_STEPS, CROWD, STEPS_MAX);
	else
		plx_fail_as(&why, PLX_REFUSED_RANKS, PLX_FAILED_SAYS "%s",
			    status->failed.why);
	pollux_refuse(job, state, &why);
}

static void _give_up(job_record_t *job, struct pollux_job_state *state)
{
	struct plx_error why;

	plx_fail(&why, "its steps do not end");
	if (_is_crowded(job))
		plx_fail(&why, CROWD, STEPS_MAX);
	_end(job, state, why.text);
}

/* True when it may use its shape. */
static bool _after_prolog(job_record_t *job, struct pollux_job_state *state,
			  enum verdict verdict, double locked_s)
{
	if (verdict == AGAIN) {
		pollux_prolog_again(job, state);
		return false;
	}
	if (verdict == UNDO)
		(void) _undo(job, state);
	else if (state->overlaps)
		_lent(job, state, locked_s);
	else
		_done(job, state, locked_s);
	return verdict == READY && !state->overlaps;
}

/* True when it got its shape already. */
static bool _overlap(job_record_t *job, struct pollux_job_state *state,
		     const struct plx_status *status, double locked_s)
{
	struct pollux_shape want = { NULL };
	struct pollux_shape overlap = { NULL };
	enum pollux_overlap_kind kind = POLLUX_OVERLAP_NONE;
	struct plx_error err;
	struct plx_error same;
	bool vain = false;
	int rc = pollux_target_shape(job, state, status, &want, &err);

	pollux_prolog_before(job, state);
	pollux_back_before(job, state);
	if (rc == 0) {
		kind = pollux_overlap(job, &want, &overlap);
		if (!want.gpus || !overlap.gpus || !state->target.on[0])
			rc = plx_fail(&err, "no GPU to train on meanwhile, or "
					    "too many nodes to name");
		else if (kind == POLLUX_OVERLAP_BOTH &&
			 pollux_overlap_test(job, &overlap, &err) < 0)
			rc = -1;
		else if (kind != POLLUX_OVERLAP_NONE)
			rc = pollux_resize(job, &overlap, &err);
		/* Nor without what it has: no reason to stop its ranks. */
		vain = rc < 0 && want.gpus &&
		       pollux_resize_test(job, &want, &same) < 0;
	}
	pollux_shape_release(&want);
	pollux_shape_release(&overlap);
	if (_is_held_up(job, state, &rc, &err))
		return false;
	state->steps_before = job->next_step_id;
	if (vain)
		pollux_refuse(job, state, &same);
	else if (rc < 0)
		_ask_cold(job, state, &err);
	else
		_has_shape(job, state, kind != POLLUX_OVERLAP_NEW, locked_s);
	return rc == 0 && kind == POLLUX_OVERLAP_NEW;
}

/* Nobody who waits can start in what it leaves before it is somewhere else. */
static bool _depart(job_record_t *job, struct pollux_job_state *state,
		    const struct plx_status *status)
{
	struct plx_error err;

	if (pollux_migrate_depart(job, state, &err) < 0) {
		pollux_refuse(job, state, &err);
		pollux_notify_launcher(job, status);
	}
	return false;
}

static void _kill(job_record_t *job, struct pollux_job_state *state,
		  const struct plx_status *status)
{
	pollux_info("sched/pollux: JobId=%u did not answer in %.0f s%s, its "
		    "steps are "
		    "killed",
		    job->job_id, state->timeout_s,
		    state->excused ? ", nor in the time for busy ranks" : "");
	pollux_count(POLLUX_WAS_OVERDUE);
	pollux_count(POLLUX_DID_KILL);
	pollux_kill_steps(job, status, 0, POLLUX_ALL_STEPS);
	state->trains_on = false;
	state->phase = POLLUX_KILLED;
	state->deadline_s = pollux_now_s() + KILL_WAIT_S;
}

/* True when it got its shape. */
static bool _take(job_record_t *job, struct pollux_job_state *state,
		  const struct plx_status *status, double locked_s)
{
	struct plx_error err;
	int rc = _commit(job, state, status, &err);

	if (rc == POLLUX_RESTLESS && state->phase != POLLUX_KILLED) {
		_kill(job, state, status);
		return false;
	}
	if (_is_last_held_up(job, state, &rc, &err))
		return false;
	if (rc < 0) {
		/* A node may still be busy with another job's end. */
		if (state->phase == POLLUX_LENT && locked_s < state->deadline_s)
			return false;
		pollux_refuse(job, state, &err);
		pollux_notify_launcher(job, status);
		return false;
	}
	_has_shape(job, state, false, locked_s);
	pollux_notify_launcher(job, status);
	return true;
}

/* True when it got its shape. */
static bool _act(job_record_t *job, struct pollux_job_state *state,
		 enum verdict verdict, const struct plx_status *status)
{
	double locked_s = pollux_now_s();
	bool moved = false;

	switch (verdict) {
	case WAIT:
		return false;
	case DROP:
		pollux_constrain_forget(state->job_id);
		pollux_stuck_clear(&state->stuck);
		state->phase = POLLUX_IDLE;
		return false;
	case OVERLAP:
		state->trains_on = true;
		moved = _overlap(job, state, status, locked_s);
		pollux_notify_launcher(job, status);
		return moved;
	case KILL:
		_kill(job, state, status);
		return false;
	case CLEAR:
		pollux_count(POLLUX_DID_KILL);
		pollux_kill_steps(job, status, 0, state->steps_before);
		state->deadline_s = locked_s + KILL_WAIT_S;
		return false;
	case KEEP:
		_keep(job, state, status);
		pollux_notify_launcher(job, status);
		return false;
	case BACK:
		if (!_back(job, state, status))
			return false;
		pollux_notify_launcher(job, status);
		return true; /* others may have what it gave back */
	case CUT:
		pollux_count(POLLUX_DID_KILL);
		pollux_kill_steps(job, status, state->back_step,
				  POLLUX_ALL_STEPS);
		state->deadline_s = locked_s + KILL_WAIT_S;
		return false;
	case GIVE_UP:
		_give_up(job, state);
		return false;
	case ARRIVE:
		return pollux_migrate_arrive(job, state);
	case AGAIN:
	case READY:
	case UNDO:
		moved = _after_prolog(job, state, verdict, locked_s);
		if (!pollux_constrain_busy(job->job_id))
			pollux_notify_launcher(job, status);
		return moved;
	case COMMIT:
		/* It stopped, and nobody had told it to. */
		if (state->phase == POLLUX_REQUESTED && !state->target.cold)
			state->trains_on = false;
		break;
	}
	return state->target.move ? _depart(job, state, status)
				  : _take(job, state, status, locked_s);
}

/* Judged again under the write lock: it may not be so any more. */
static bool _touch(struct pollux_job_state *state)
{
	struct plx_status status;
	job_record_t *job = find_job_record(state->job_id);
	bool moved = false;

	/* Slurm may have taken a node away since we looked last. */
	if (job && state->since && state->phase != POLLUX_MOVING &&
	    pollux_record_runs(job))
		_note_shape(job, state);
	moved = _act(job, state, _judge(job, state, &status), &status);
	pollux_lost_end();
	return moved;
}

/* All that are due, in as few holds as last two milliseconds each. */
static bool _touch_all(void)
{
	struct pollux_job_state *state = NULL;
	bool moved = false;
	bool locked = false;

	for (int i = 0; (state = pollux_job_state_at(i)); i++) {
		if (!state->due)
			continue;
		if (locked)
			pollux_lock_yield(POLLUX_TOUCH);
		else
			pollux_lock(POLLUX_TOUCH);
		locked = true;
		if (pollux_ending())
			break;
		moved |= _touch(state);
	}
	if (locked)
		pollux_unlock(POLLUX_TOUCH);
	return moved;
}

/* Of all that are in the middle of a resize. */
static void _judge_all(void)
{
	struct pollux_job_state *state = NULL;
	struct plx_status status;

	pollux_lock(POLLUX_JUDGE);
	for (int i = 0; (state = pollux_job_state_at(i)); i++) {
		job_record_t *job = NULL;

		state->due = false;
		if (state->phase == POLLUX_IDLE)
			continue;
		job = find_job_record(state->job_id);
		state->due = _judge(job, state, &status) != WAIT;
		if (!state->due)
			pollux_notify_again(job, state);
	}
	pollux_unlock(POLLUX_JUDGE);
}

bool pollux_resize_tick(void)
{
	if (!pollux_job_state_any_busy())
		return false;
	_judge_all();
	return _touch_all();
}
