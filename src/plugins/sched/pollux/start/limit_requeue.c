/* SPDX-License-Identifier: GPL-2.0-or-later */
/* limit_requeue.c - jobs that go on from the queue at their time limit */

#include <math.h>
#include <stdio.h>

#include "core/jobs/limit.h"
#include "core/problem/problem.h"
#include "sched/pollux/resize/resize_request.h"
#include "sched/pollux/resize/target_shape.h"
#include "sched/pollux/start/limit_requeue.h"
#include "sched/pollux/job_state.h"

/* Between two tries. */
#define AGAIN_S 1
/* A job has to answer before its limit, with this part of what is left. */
#define ANSWER_OF 0.8

/* Seconds from now until it is time. */
static double _due_s(const struct pollux_job *job)
{
	double lead_s = plx_limit_lead(job->status.lead_s, job->limit_s);

	return job->ends_s - lead_s;
}

static bool _wants(const struct pollux_job *job)
{
	return job->options.at_limit == PLX_LIMIT_REQUEUE &&
	       isfinite(job->limit_s) && job->status.phase != PLX_PHASE_DONE &&
	       (pollux_is_moldable(job) ||
		job->status.launcher != PLX_WAKE_NONE);
}

static enum plx_came _came(const struct pollux_job *job, double mark)
{
	if (job->status.has_hint)
		return plx_limit_came(job->status.hint.progress, mark);
	if (pollux_is_moldable(job) && job->saved_s >= 0)
		return job->saved_s < (double) job->age_s ? PLX_CAME_FURTHER
							  : PLX_CAME_NOWHERE;
	return PLX_CAME_UNTOLD;
}

/* False: it has come no further for too long, and ends. */
static bool _judge(const struct pollux_job *job, struct pollux_job_state *state,
		   struct plx_target *target)
{
	*target = state->target;
	if (plx_limit_again(_came(job, target->mark), &target->rounds)) {
		if (job->status.has_hint)
			target->mark = job->status.hint.progress;
		return true;
	}
	if (!state->spent)
		info("sched/pollux: JobId=%u ends at its time limit: it came "
		     "no further in %d of them",
		     job->id, target->rounds);
	state->spent = true;
	return false;
}

static bool _ask(const struct pollux_snapshot *snapshot, int j,
		 const struct pollux_params *params)
{
	const struct pollux_job *job = &snapshot->jobs[j];
	int *none = xcalloc(snapshot->node_count + 1, sizeof(*none));
	struct pollux_params hurried = *params;
	char why[PLX_WHY_SIZE];
	bool asked = false;

	snprintf(why, sizeof(why),
		 "its time limit is in %.0f s: saved, it goes on from the "
		 "queue",
		 fmax(job->ends_s, 0));
	hurried.ack_timeout_s = fmin(params->ack_timeout_s,
				     fmax(ANSWER_OF * job->ends_s, AGAIN_S));
	if (pollux_is_moldable(job))
		asked = pollux_migrate_at_once(snapshot, j, none, why);
	else
		asked = pollux_migrate_ask(snapshot, j, none, why, &hurried);
	xfree(none);
	return asked;
}

/* Seconds to the next try; INFINITY: there will be none. */
static double _try(const struct pollux_snapshot *snapshot, int j,
		   const struct pollux_params *params)
{
	const struct pollux_job *job = &snapshot->jobs[j];
	struct pollux_job_state *state = pollux_job_state_find(job->id);
	struct plx_target before;
	struct plx_target next;

	if (!state || state->phase != POLLUX_IDLE)
		return AGAIN_S;
	/* It has stopped once, in vain. */
	if (state->target.state == PLX_TARGET_REFUSED &&
	    pollux_evicts(&state->target))
		return INFINITY;
	before = state->target;
	if (!_judge(job, state, &next))
		return INFINITY;
	state->target.rounds = next.rounds;
	state->target.mark = next.mark;
	if (_ask(snapshot, j, params))
		return INFINITY;
	state = pollux_job_state_get(job->id);
	state->target.rounds = before.rounds;
	state->target.mark = before.mark;
	return AGAIN_S;
}

double pollux_limit(const struct pollux_snapshot *snapshot,
		    const struct pollux_params *params)
{
	double next_s = INFINITY;

	for (int j = 0; j < snapshot->job_count; j++) {
		double due_s = INFINITY;

		if (!_wants(&snapshot->jobs[j]))
			continue;
		due_s = _due_s(&snapshot->jobs[j]);
		if (due_s <= 0)
			due_s = _try(snapshot, j, params);
		next_s = fmin(next_s, due_s);
	}
	return isfinite(next_s) ? (double) snapshot->now + next_s : 0;
}

void pollux_limit_warn(const struct pollux_snapshot *snapshot, int j,
		       const int *gpus, char *why, size_t size)
{
	const struct pollux_job *job = &snapshot->jobs[j];

	if (!job->status.has_hint || job->unlike_model ||
	    !isfinite(job->limit_s) ||
	    job->options.at_limit == PLX_LIMIT_REQUEUE ||
	    pollux_is_moldable(job))
		return;
	plx_limit_warn(&job->status.hint,
		       plx_shape_on(gpus, snapshot->node_count,
				    snapshot->switches),
		       job->ends_s, why, size);
}
