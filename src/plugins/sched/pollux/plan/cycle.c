/* SPDX-License-Identifier: GPL-2.0-or-later */
/* cycle.c - one decision about all elastic jobs */

#include <stdlib.h>
#include <string.h>

#include "common/slurm_compat.h"
#include "core/search/plan.h"
#include "core/reserve/circular_wait.h"
#include "sched/pollux/snapshot/snapshot_read.h"
#include "sched/pollux/plan/cycle.h"
#include "sched/pollux/plan/dump.h"
#include "sched/pollux/plan/leave.h"
#include "sched/pollux/plan/moldable_plan.h"
#include "sched/pollux/plan/reservation_timeout.h"
#include "sched/pollux/plan/snapshot_problem.h"
#include "sched/pollux/plan/promises.h"
#include "sched/pollux/plan/limit_split.h"
#include "sched/pollux/plan/cluster_scale.h"
#include "sched/pollux/plan/consumables.h"
#include "sched/pollux/preempt.h"
#include "sched/pollux/monotonic.h"
#include "sched/pollux/resize/announce.h"
#include "sched/pollux/resize/resize_request.h"
#include "sched/pollux/start/start_reserved.h"
#include "sched/pollux/start/limit_requeue.h"
#include "sched/pollux/start/moldable_start.h"
#include "sched/pollux/report/count.h"
#include "sched/pollux/report/gauges.h"
#include "sched/pollux/report/explain.h"
#include "sched/pollux/report/start_times.h"
#include "sched/pollux/report/waits.h"
#include "sched/pollux/job_state.h"
#include "sched/pollux/locks.h"

/* A launcher that starts ranks is given this long before it is asked again. */
#define START_S 30

/* The GPUs a job in the middle of a resize will have. */
static int *_target_gpus(const struct pollux_snapshot *snapshot,
			 const struct pollux_job *job,
			 const struct pollux_job_state *state)
{
	int *gpus = xcalloc(snapshot->node_count, sizeof(*gpus));
	pollux_hostlist_t want = NULL;
	char *name = NULL;

	if (!state->want) {
		memcpy(gpus, job->gpus, sizeof(*gpus) * snapshot->node_count);
		return gpus;
	}
	want = hostlist_create(state->want);
	for (int i = 0; (name = hostlist_shift(want)); i++) {
		int n = pollux_snapshot_find(snapshot, name);

		if (n >= 0)
			gpus[n] = plx_target_each(&state->target, i);
		free(name);
	}
	hostlist_destroy(want);
	return gpus;
}

static bool _has_to_leave(const struct pollux_snapshot *snapshot,
			  const struct pollux_job *job)
{
	return job->batch_host >= 0 && snapshot->nodes[job->batch_host].leave;
}

/* Slurm preempts it, if it does not give what others need. */
static bool _is_preempted(const struct pollux_snapshot *snapshot,
			  const struct pollux_job *job)
{
	int j = (int) (job - snapshot->jobs);

	for (int i = 0; i < snapshot->waiting_count; i++) {
		const struct pollux_waiting *waiting = &snapshot->waiting[i];

		if (waiting->preempts && waiting->preempts[j])
			return true;
	}
	return false;
}

/* Its ranks fail where it is. */
static bool _is_ill(const struct pollux_snapshot *snapshot,
		    const struct pollux_job *job)
{
	for (int n = 0; job->shunned && n < snapshot->node_count; n++) {
		if (job->shunned[n] && job->gpus[n] > 0)
			return true;
	}
	return false;
}

/* Why the job is left as it is, if it is. */
static enum plx_hold _hold(const struct pollux_snapshot *snapshot,
			   const struct pollux_job *job,
			   const struct pollux_job_state *state, double now_s)
{
	if (job->status.phase == PLX_PHASE_DONE)
		return PLX_HOLD_DONE;
	if (job->bound)
		return PLX_HOLD_BOUND;
	if (!job->runs)
		return PLX_HOLD_SILENT;
	if (snapshot->gathers)
		return PLX_HOLD_NODES;
	if (!_is_ill(snapshot, job) &&
	    pollux_left_alone(state,
			      _has_to_leave(snapshot, job) ||
				      _is_preempted(snapshot, job),
			      now_s))
		return PLX_HOLD_REFUSED;
	if (!pollux_is_moldable(job) &&
	    job->status.phase == PLX_PHASE_STARTING &&
	    snapshot->now - job->since < START_S)
		return PLX_HOLD_STARTING;
	return PLX_HOLD_NONE;
}

static struct pollux_job_input *_inputs(const struct pollux_snapshot *snapshot,
					const struct pollux_params *params)
{
	struct pollux_job_input *inputs =
		xcalloc(snapshot->job_count + snapshot->moldable_count + 1,
			sizeof(*inputs));
	double now_s = pollux_now_s();

	for (int j = 0; j < snapshot->job_count; j++) {
		const struct pollux_job *job = &snapshot->jobs[j];
		struct pollux_job_state *state = pollux_job_state_find(job->id);

		if (!state)
			continue;
		inputs[j].service_s =
			pollux_job_state_service(state, snapshot->now);
		inputs[j].most_gpus = state->most_gpus;
		inputs[j].validation = state->validation;
		inputs[j].busy = state->phase != POLLUX_IDLE;
		inputs[j].leaves = inputs[j].busy && state->target.move;
		inputs[j].hold = _hold(snapshot, job, state, now_s);
		inputs[j].still = inputs[j].hold != PLX_HOLD_NONE;
		if (pollux_is_moldable(job)) {
			inputs[j].moldable =
				pollux_moldable_of(snapshot, job, params);
			if (inputs[j].hold == PLX_HOLD_NONE)
				pollux_moldable_hold(&inputs[j]);
		}
		if (inputs[j].busy)
			inputs[j].target = _target_gpus(snapshot, job, state);
	}
	pollux_promises_keep(snapshot, inputs);
	return inputs;
}

/* GPUs on node n that jobs asked to grow will need. */
static int _claimed(const struct pollux_snapshot *snapshot,
		    const struct pollux_job_input *inputs, int n)
{
	int claimed = 0;

	for (int j = 0; j < snapshot->job_count; j++) {
		if (inputs[j].busy)
			claimed += MAX(inputs[j].target[n] -
					       snapshot->jobs[j].gpus[n],
				       0);
	}
	return claimed;
}

/*
 * Does the choice need nothing that another job still has to give up? Free
 * GPUs are those that nobody has, was promised, or waits for.
 */
static bool _fits_now(const struct pollux_snapshot *snapshot, int j,
		      const int *gpus, const int *idle)
{
	for (int n = 0; n < snapshot->node_count; n++) {
		if (gpus[n] - snapshot->jobs[j].gpus[n] > MAX(idle[n], 0))
			return false;
	}
	/* Who runs is tried, and keeps what it has. */
	return j < snapshot->job_count ||
	       pollux_consumables_is_free(snapshot, j, gpus);
}

static void _spend(const struct pollux_snapshot *snapshot, int j,
		   const int *gpus, int *idle)
{
	for (int n = 0; n < snapshot->node_count; n++)
		idle[n] -= MAX(gpus[n] - snapshot->jobs[j].gpus[n], 0);
}

/* What a cycle decides upon, and what it decides. */
struct cycle {
	const struct pollux_snapshot *snapshot;
	const struct pollux_params *params;
	double now_s; /* monotonic clock */
	struct pollux_job_input *inputs;
	struct pollux_reservations reservations;
	struct plx_problem *problem;
	struct plx_plan *plan;
};

/* A job gets at most twice what it has measured, unless others know more. */
static void _report_profiles(const struct cycle *cycle, int j)
{
	const struct pollux_job *job = &cycle->snapshot->jobs[j];
	int own = pollux_problem_measured(job);
	int known = cycle->problem->jobs[j].profiled_gpus;
	int has = cycle->snapshot->jobs[j].has_gpus;

	if (known > own &&
	    cycle->plan->choices[j].shape.gpus > MAX(has, 2 * own))
		pollux_info("sched/pollux: JobId=%u: jobs of its kind measured "
			    "up to "
			    "%d GPUs, it has itself measured %d",
			    job->id, known, own);
}

static enum pollux_leave _leave(const struct cycle *cycle, int j)
{
	return pollux_leave_of(cycle->snapshot, cycle->problem, j,
			       &cycle->plan->choices[j]);
}

/* Also one whose GPUs stay as they are, or none, and whose script has to go. */
static bool _changes(const struct cycle *cycle, int j)
{
	if (pollux_is_moldable(&cycle->snapshot->jobs[j]))
		return cycle->plan->choices[j].changed;
	return cycle->plan->choices[j].changed ||
	       _leave(cycle, j) != POLLUX_LEAVE_NOT;
}

static bool _ask(const struct cycle *cycle, int j)
{
	const struct plx_choice *choice = &cycle->plan->choices[j];
	enum pollux_leave leave = POLLUX_LEAVE_NOT;
	char why[PLX_WHY_SIZE];

	if (j >= cycle->snapshot->job_count) {
		pollux_requests_end(); /* it takes locks of its own */
		return pollux_moldable_start(cycle->snapshot, j, choice->gpus,
					     cycle->reservations.grants);
	}
	pollux_requests_begin();
	if (pollux_is_moldable(&cycle->snapshot->jobs[j]))
		return pollux_migrate_at_once(cycle->snapshot, j, choice->gpus,
					      cycle->inputs[j].why[0]
						      ? cycle->inputs[j].why
						      : choice->why);
	leave = _leave(cycle, j);
	if (leave == POLLUX_LEAVE_NOT) {
		snprintf(why, sizeof(why), "%s", choice->why);
		pollux_limit_warn(cycle->snapshot, j, choice->gpus, why,
				  sizeof(why));
		return pollux_resize_request(cycle->snapshot, j, choice->gpus,
					     why, cycle->params);
	}
	pollux_leave_why(cycle->snapshot, cycle->reservations.grants, j, leave,
			 choice, why, sizeof(why));
	return pollux_migrate_ask(cycle->snapshot, j, choice->gpus, why,
				  cycle->params);
}

/* GPUs that are free, and not promised to others. */
static int *_idle(const struct cycle *cycle)
{
	const struct pollux_snapshot *snapshot = cycle->snapshot;
	int *idle = xcalloc(snapshot->node_count + 1, sizeof(*idle));

	for (int n = 0; n < snapshot->node_count; n++)
		idle[n] = snapshot->nodes[n].left.gpus -
			  cycle->reservations.reserved[n] -
			  _claimed(snapshot, cycle->inputs, n);
	return idle;
}

/* Can its choice be carried out, now or later? */
static bool _acts(const struct cycle *cycle, int j)
{
	return _changes(cycle, j) && !cycle->inputs[j].busy &&
	       !cycle->inputs[j].still;
}

static void _apply(const struct cycle *cycle)
{
	const struct pollux_snapshot *snapshot = cycle->snapshot;
	int *idle = _idle(cycle);
	double *left = pollux_limit_split_left(snapshot, cycle->problem);

	for (int j = 0; j < cycle->plan->job_count; j++) {
		const struct plx_choice *choice = &cycle->plan->choices[j];

		pollux_requests_yield();
		if (!_acts(cycle, j) ||
		    !_fits_now(snapshot, j, choice->gpus, idle) ||
		    !pollux_limit_split_allow(snapshot, j, choice->shape.gpus,
					      left) ||
		    !_ask(cycle, j))
			continue;
		if (!pollux_is_moldable(&snapshot->jobs[j]))
			_report_profiles(cycle, j);
		_spend(snapshot, j, choice->gpus, idle);
		pollux_limit_split_spend(snapshot, j, choice->shape.gpus, left);
	}
	pollux_requests_end();
	free(left);
	xfree(idle);
}

/* What jobs give up that are being resized. */
static void _await(const struct cycle *cycle, int *idle)
{
	for (int j = 0; j < cycle->snapshot->job_count; j++) {
		const struct pollux_job_input *input = &cycle->inputs[j];
		const int *has = cycle->snapshot->jobs[j].gpus;

		for (int n = 0; input->busy && n < cycle->snapshot->node_count;
		     n++)
			idle[n] += MAX(has[n] - input->target[n], 0);
	}
}

static void _give_first(const struct cycle *cycle, int j, const int *gpus,
			uint32_t other)
{
	char why[PLX_PLAN_WHY];
	int keeps = 0;

	for (int n = 0; n < cycle->snapshot->node_count; n++)
		keeps += gpus[n];
	snprintf(why, sizeof(why),
		 "shrinks %d -> %d GPUs for now: it and job %u wait for GPUs "
		 "of each other",
		 cycle->snapshot->jobs[j].has_gpus, keeps, other);
	(void) pollux_resize_request(cycle->snapshot, j, gpus, why,
				     cycle->params);
}

/* Jobs that wait for each other would do so for ever. */
static void _end_circle(const struct cycle *cycle)
{
	int jobs = cycle->plan->job_count;
	bool *acts = xcalloc(jobs + 1, sizeof(*acts));
	int *gpus = xcalloc(cycle->snapshot->node_count + 1, sizeof(*gpus));
	int *idle = _idle(cycle);
	uint32_t other = 0;
	int j = -1;

	for (j = 0; j < cycle->snapshot->job_count; j++)
		acts[j] = !pollux_is_moldable(&cycle->snapshot->jobs[j]) &&
			  _acts(cycle, j);
	_await(cycle, idle);
	j = plx_circular_wait(cycle->problem, cycle->plan, acts, idle, gpus,
			      &other);
	if (j >= 0)
		_give_first(cycle, j, gpus, other);
	xfree(idle);
	xfree(gpus);
	xfree(acts);
}

/* Why a moldable job is not requeued, or that nothing is against it. */
static void _note_moldable(const struct cycle *cycle, int j)
{
	const struct pollux_job_input *input = &cycle->inputs[j];
	struct pollux_job_state *state = NULL;

	if (!pollux_is_moldable(&cycle->snapshot->jobs[j]) ||
	    (input->hold != PLX_HOLD_MOLDABLE &&
	     (input->hold != PLX_HOLD_NONE || cycle->plan->choices[j].changed)))
		return;
	state = pollux_job_state_find(cycle->snapshot->jobs[j].id);
	if (state)
		memcpy(state->refused, input->why, sizeof(state->refused));
}

static void _tell(const struct cycle *cycle)
{
	int count = cycle->snapshot->job_count;
	enum plx_hold *held = xcalloc(count + 1, sizeof(*held));

	for (int j = 0; j < count; j++) {
		held[j] = cycle->inputs[j].hold;
		_note_moldable(cycle, j);
	}
	pollux_explain(cycle->snapshot, cycle->plan, held);
	pollux_waits_report(cycle->snapshot, cycle->plan,
			    cycle->reservations.grants);
	pollux_start_times_note(cycle->snapshot, &cycle->params->terms,
				cycle->reservations.grants);
	xfree(held);
}

/* Can it give up GPUs in place, now or once it is through with a resize? */
static bool _gives(const struct cycle *cycle, int j)
{
	return !pollux_is_moldable(&cycle->snapshot->jobs[j]) &&
	       cycle->inputs[j].hold != PLX_HOLD_DONE &&
	       cycle->inputs[j].hold != PLX_HOLD_BOUND &&
	       cycle->inputs[j].hold != PLX_HOLD_SILENT;
}

static void _note_preemption(const struct cycle *cycle)
{
	int count = cycle->snapshot->job_count;
	bool *giving = xcalloc(count + 1, sizeof(*giving));
	bool *asked = xcalloc(count + 1, sizeof(*asked));

	for (int j = 0; j < count; j++) {
		giving[j] = _gives(cycle, j);
		asked[j] = cycle->inputs[j].busy;
	}
	pollux_preempt_note(cycle->snapshot, cycle->reservations.grants, giving,
			    asked, cycle->now_s);
	xfree(giving);
	xfree(asked);
}

static void _conclude(const struct cycle *cycle)
{
	const struct pollux_snapshot *snapshot = cycle->snapshot;

	debug("sched/pollux: cycle: %d elastic jobs, %d jobs wait, "
	      "fitness %.4f, can be %.4f",
	      snapshot->job_count, snapshot->waiting_count,
	      cycle->plan->fitness_now, cycle->plan->fitness);
	pollux_gauges(snapshot, cycle->problem, cycle->plan,
		      cycle->reservations.reserved);
	pollux_reservation_timeout_note(snapshot, cycle->reservations.grants,
					cycle->params, cycle->now_s);
	_note_preemption(cycle);
	pollux_start_reserved_note(snapshot, cycle->reservations.grants,
				   cycle->params->interference);
	_apply(cycle);
	_end_circle(cycle);
	_tell(cycle);
	pollux_scale_decide(snapshot, cycle->problem, cycle->params,
			    cycle->now_s);
	if (cycle->params->dump[0])
		pollux_dump(cycle->params->dump, snapshot, cycle->problem,
			    cycle->plan);
}

static struct plx_grant *_grants(const struct pollux_snapshot *snapshot)
{
	struct plx_grant *grants =
		xcalloc(snapshot->waiting_count + 1, sizeof(*grants));

	for (int i = 0; i < snapshot->waiting_count; i++) {
		grants[i].nodes =
			xcalloc(snapshot->node_count + 1, sizeof(bool));
		grants[i].promised =
			xcalloc(snapshot->node_count + 1, sizeof(bool));
	}
	return grants;
}

/* Once, until a plan counts all kinds again. */
static void _say_held(int held)
{
	static bool said;

	if (held && !said)
		error("sched/pollux: more than %d types of GPUs, and "
		      "partitions' "
		      "CPUs, may run out on some node; plans count so many, "
		      "and "
		      "%d jobs that need others keep what they have",
		      PLX_KINDS_MAX, held);
	said = held > 0;
}

static void _skip(const struct plx_error *why)
{
	pollux_count(POLLUX_DID_SKIP);
	error("sched/pollux: cycle skipped: %s", why->text);
}

/* Until what is found will be done. */
static int _search(struct cycle *cycle, struct plx_error *err)
{
	int rc = 0;
	int searches = 0;

	do {
		plx_plan_destroy(cycle->plan);
		cycle->plan = NULL;
		rc = pollux_limit_split_search(cycle->snapshot, cycle->problem,
					       &cycle->plan, err);
		searches++;
	} while (rc == 0 &&
		 pollux_moldable_settle(cycle->snapshot, cycle->plan,
					cycle->problem, cycle->inputs,
					&cycle->reservations) &&
		 searches < POLLUX_MOLDABLE_SEARCHES);
	return rc;
}

void pollux_cycle(const struct pollux_snapshot *snapshot,
		  const struct pollux_params *params, double now_s)
{
	struct cycle cycle = {
		.snapshot = snapshot,
		.params = params,
		.now_s = now_s,
		.inputs = _inputs(snapshot, params),
		.reservations = {
			.reserved = xcalloc(snapshot->node_count + 1, sizeof(int)),
			.grants = _grants(snapshot),
		},
	};
	struct plx_error why;

	cycle.problem = pollux_problem_create(snapshot, params, cycle.inputs,
					      &cycle.reservations, &why);
	_say_held(cycle.reservations.held);
	if (!cycle.problem || _search(&cycle, &why) < 0)
		_skip(&why);
	else
		_conclude(&cycle);
	pollux_count_cycle(pollux_now_s() - now_s);
	plx_plan_destroy(cycle.plan);
	plx_problem_destroy(cycle.problem);
	for (int j = 0; j < snapshot->job_count; j++)
		xfree(cycle.inputs[j].target);
	xfree(cycle.inputs);
	xfree(cycle.reservations.reserved);
	for (int i = 0; i < snapshot->waiting_count; i++) {
		xfree(cycle.reservations.grants[i].nodes);
		xfree(cycle.reservations.grants[i].promised);
	}
	xfree(cycle.reservations.grants);
}
