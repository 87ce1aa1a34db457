/* SPDX-License-Identifier: GPL-2.0-or-later */
/* explain.c - on each job record, why the job has what it has */

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "sched/pollux/snapshot/snapshot_read.h"
#include "sched/pollux/plan/sick_nodes.h"
#include "sched/pollux/record.h"
#include "sched/pollux/monotonic.h"
#include "sched/pollux/start/limit_requeue.h"
#include "sched/pollux/report/count.h"
#include "sched/pollux/report/explain.h"
#include "sched/pollux/job_state.h"
#include "sched/pollux/locks.h"

/* So long a job says why it was resized, for its launcher to read. */
#define FRESH_S 3
#define DIGITS	100.0 /* of a speedup: two after the point */

/* What is to be written about one job. */
struct note {
	uint32_t job_id;
	double speedup;
	char why[PLX_WHY_SIZE];
};

static bool _is_asked(const struct plx_target *target)
{
	return target->state == PLX_TARGET_REQUESTED ||
	       target->state == PLX_TARGET_LENT;
}

/* What is to be said besides what the plan, or `hold`, says. */
static const char *_because(const struct pollux_job *job, enum plx_hold hold,
			    const struct pollux_job_state *state,
			    const char *sick)
{
	if (hold == PLX_HOLD_BOUND)
		return job->bound;
	if (hold == PLX_HOLD_SILENT && job->complaint[0])
		return job->complaint;
	if (state && state->lapse)
		return "what it had above its least was lent to it to train";
	if (hold == PLX_HOLD_SILENT)
		return "srun pollux-launch PROGRAM has to start it, and "
		       "PROGRAM use libpollux or save on a signal";
	return state && state->refused[0] ? state->refused : sick;
}

/* Of its own type none is free, but of others on nodes that it may use, too. */
static bool _is_out(const struct pollux_snapshot *snapshot,
		    const struct pollux_job *job)
{
	bool others = job->unlike[0];

	if (job->kind < 0 || !(others || snapshot->kinds[job->kind].mixed))
		return false;
	for (int n = 0; n < snapshot->node_count; n++) {
		if (!job->allowed[n])
			continue;
		if (snapshot->kinds[job->kind].free[n] > 0)
			return false;
		others = others || snapshot->nodes[n].left.gpus > 0;
	}
	return others;
}

/* That others are free, and what to do to have them. */
static void _add_unlike(const struct pollux_snapshot *snapshot, int j,
			struct note *note)
{
	const struct pollux_job *job = &snapshot->jobs[j];
	int gpus = snapshot->jobs[j].has_gpus;
	size_t length = strlen(note->why);
	char more[2 * PLX_TYPES_SIZE + 64];
	int size = 0;

	if (!_is_out(snapshot, job) ||
	    (job->options.max_gpus && gpus >= job->options.max_gpus))
		return;
	if (job->unlike[0])
		size = snprintf(more, sizeof(more),
				"; no %s is free, %s is: mix=yes lets it use "
				"both",
				snapshot->kinds[job->kind].type, job->unlike);
	else
		size = snprintf(more, sizeof(more),
				"; no %s is free, others are",
				snapshot->kinds[job->kind].type);
	if (size > 0 && length + (size_t) size < sizeof(note->why))
		memcpy(note->why + length, more, (size_t) size + 1);
}

/* False when there is nothing new to tell. */
static bool _note(const struct pollux_snapshot *snapshot, int j,
		  const struct plx_plan *plan, enum plx_hold hold,
		  struct note *note)
{
	const struct pollux_job *job = &snapshot->jobs[j];
	const struct plx_choice *choice = plan ? &plan->choices[j] : NULL;
	struct pollux_job_state *state = pollux_job_state_find(job->id);
	char sick[PLX_WHY_SIZE];
	struct plx_explanation explanation = {
		.gpus = snapshot->jobs[j].has_gpus,
		.hold = hold,
		.changes = choice && choice->changed,
		.plan = choice ? choice->why : NULL,
	};

	pollux_sick_why(snapshot, j, sick, sizeof(sick));
	explanation.refused = _because(job, hold, state, sick);
	if (state && choice && !choice->changed)
		state->speedup = job->status.has_hint ? choice->speedup : 0;
	if (!state || state->phase != POLLUX_IDLE || _is_asked(&job->target) ||
	    (job->target.state && job->target.why[0] &&
	     snapshot->now - job->since < FRESH_S))
		return false;
	plx_explanation_text(&explanation, note->why, sizeof(note->why));
	if (choice && !choice->changed)
		_add_unlike(snapshot, j, note);
	pollux_limit_warn(snapshot, j, job->gpus, note->why, sizeof(note->why));
	note->job_id = job->id;
	note->speedup = choice && !choice->changed && job->status.has_hint
				? round(DIGITS * choice->speedup) / DIGITS
				: 0;
	return plx_explanation_is_news(job->target.why, note->why,
				       pollux_now_s() - state->told_s);
}

/* Write lock on jobs. */
static void _write(const struct note *note)
{
	job_record_t *job = find_job_record(note->job_id);
	struct pollux_job_state *state = pollux_job_state_find(note->job_id);
	struct plx_target target;

	if (!job || !state || !(IS_JOB_RUNNING(job) || IS_JOB_SUSPENDED(job)) ||
	    plx_target_read(job->system_comment, &target, NULL) < 0 ||
	    _is_asked(&target))
		return;
	target.speedup = note->speedup;
	memcpy(target.why, note->why, sizeof(target.why));
	/* Not worth saving slurmctld's state: the next cycle knows it again. */
	pollux_record_publish(job, &target);
	state->told_s = pollux_now_s();
	pollux_count(POLLUX_DID_REPORT);
	pollux_verbose("sched/pollux: JobId=%u %s", note->job_id, note->why);
}

void pollux_explain(const struct pollux_snapshot *snapshot,
		    const struct plx_plan *plan, const enum plx_hold *held)
{
	struct note *notes = xcalloc(snapshot->job_count + 1, sizeof(*notes));
	int count = 0;

	for (int j = 0; j < snapshot->job_count; j++)
		count += _note(snapshot, j, plan, held[j], &notes[count]);
	if (count) {
		pollux_lock(POLLUX_REPORTING);
		for (int i = 0; i < count; i++) {
			_write(&notes[i]);
			pollux_lock_yield(POLLUX_REPORTING);
		}
		pollux_unlock(POLLUX_REPORTING);
	}
	xfree(notes);
}

void pollux_explain_off(const struct pollux_snapshot *snapshot)
{
	enum plx_hold *held = xcalloc(snapshot->job_count + 1, sizeof(*held));

	for (int j = 0; j < snapshot->job_count; j++)
		held[j] = PLX_HOLD_OFF;
	pollux_explain(snapshot, NULL, held);
	xfree(held);
}
