/* SPDX-License-Identifier: GPL-2.0-or-later */
/* moldable_plan.c - moldable jobs in the plan */

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "core/problem/objective.h"
#include "sched/pollux/plan/moldable_plan.h"
#include "sched/pollux/plan/consumables.h"

/* What is left of it at a start: as many on each node (decision 0025). */
static struct plx_shape level_of(const struct pollux_job *job, const int *gpus,
				 int node_count)
{
	struct plx_shape best = { 0 };
	int each = plx_sizes_level(&job->options.sizes, gpus, node_count,
				   &best.nodes);

	best.gpus = each * best.nodes;
	return best;
}

/* By its own word, at the speed that it says it has; 0: untold. */
static double left_s(const struct pollux_job *job)
{
	const struct plx_hint *hint = &job->status.hint;

	if (!job->status.has_hint || job->unlike_model ||
	    !(hint->samples_left > 0) || !(hint->goodput > 0))
		return 0;
	return hint->samples_left / hint->goodput;
}

struct plx_moldable pollux_moldable_of(const struct pollux_snapshot *snapshot,
				       const struct pollux_job *job,
				       const struct pollux_params *params)
{
	double age_s = (double) (snapshot->now - job->since);
	bool again = job->target.state == PLX_TARGET_DONE && job->target.move;

	return (struct plx_moldable){
		.age_s = age_s,
		.requeued_s = again ? age_s : INFINITY,
		.saved_s = job->saved_s,
		.may_lose_s = job->options.checkpoint_s,
		.ends_s = job->ends_s,
		.left_s = left_s(job),
		.restart_s = PLX_MOLDABLE_RESTART_S,
		.least_gap_s = params->requeue_min_s,
	};
}

static void refuse(struct pollux_job_input *input, double ratio,
		   enum plx_moldable_answer answer)
{
	input->still = true;
	input->hold = PLX_HOLD_MOLDABLE;
	plx_moldable_text(&input->moldable, ratio, answer, input->why,
			  sizeof(input->why));
}

void pollux_moldable_hold(struct pollux_job_input *input)
{
	enum plx_moldable_answer answer = plx_moldable_may(&input->moldable);

	if (answer != PLX_MOLDABLE_YES)
		refuse(input, 1, answer);
}

void pollux_moldable_fill(const struct pollux_snapshot *snapshot, int j,
			  const struct pollux_job_input *input,
			  struct plx_job *job)
{
	job->batch_host = -1;
	if (j >= snapshot->job_count) {
		job->fixed = true;
		job->may_park = true;
		job->restart_s = PLX_MOLDABLE_RESTART_S;
		return;
	}
	job->may_park = false;
	job->restart_s =
		input->moldable.restart_s + plx_moldable_loss(&input->moldable);
}

bool pollux_moldable_is_fixed(const struct pollux_job *job,
			      const struct plx_job *planned)
{
	return pollux_is_moldable(job) && planned->fixed;
}

int pollux_moldable_alloc_count(const struct pollux_snapshot *snapshot,
				const struct plx_problem *problem)
{
	int count = 0;

	for (int j = 0; j < snapshot->job_count; j++) {
		if (pollux_moldable_is_fixed(&snapshot->jobs[j],
					     &problem->jobs[j]))
			count += snapshot->node_count;
	}
	return count;
}

/*
 * A job of higher priority waits for nodes that were promised to it. One that
 * nobody can say a time for has none.
 */
static bool is_promised(const struct pollux_snapshot *snapshot,
			const struct pollux_reservations *reservations, int i)
{
	for (int k = 0; k < i; k++) {
		const struct pollux_waiting *before = &snapshot->waiting[k];

		if (before->id != snapshot->waiting[i].id && !before->ignored &&
		    !before->blocked && !before->unlicensed &&
		    !reservations->grants[k].granted &&
		    isfinite(reservations->grants[k].starts_s))
			return true;
	}
	return false;
}

static void take_part(const struct pollux_snapshot *snapshot, int i,
		      struct plx_problem *problem,
		      struct pollux_reservations *reservations)
{
	const struct pollux_waiting *waiting = &snapshot->waiting[i];
	const bool *granted = reservations->grants[i].nodes;
	int gpus = reservations->grants[i].gpus;
	struct plx_job *job = &problem->jobs[waiting->moldable];
	/* It could not make way when their time comes. */
	bool small = !snapshot->jobs[waiting->moldable].options.checkpoint_s &&
		     is_promised(snapshot, reservations, i);

	for (int n = 0; n < snapshot->node_count; n++) {
		if (granted[n]) {
			problem->gpus[n] += gpus;
			reservations->reserved[n] -= gpus;
		}
		job->allowed[n] =
			waiting->allowed[n] && snapshot->nodes[n].usable &&
			!snapshot->nodes[n].surplus &&
			(granted[n] ||
			 (!small && pollux_consumables_has(
					    snapshot, waiting->moldable, n)));
	}
	if (small)
		job->max_gpus = job->min_gpus;
	job->fixed = false;
	reservations->grants[i].displaces = false;
}

void pollux_moldable_grant(const struct pollux_snapshot *snapshot,
			   struct plx_problem *problem,
			   struct pollux_reservations *reservations)
{
	for (int i = 0; i < snapshot->waiting_count; i++) {
		if (!reservations->grants[i].granted)
			continue;
		reservations->displaces |= reservations->grants[i].displaces;
		if (snapshot->waiting[i].moldable >= 0)
			take_part(snapshot, i, problem, reservations);
	}
}

/* It does not take part after all: its room is kept, as for other jobs. */
static void keep_reserved(const struct pollux_snapshot *snapshot, int i,
			  struct plx_problem *problem,
			  struct pollux_reservations *reservations)
{
	const struct pollux_waiting *waiting = &snapshot->waiting[i];

	for (int n = 0; n < snapshot->node_count; n++) {
		int gpus = reservations->grants[i].gpus;

		if (!reservations->grants[i].nodes[n])
			continue;
		if (gpus > problem->gpus[n])
			gpus = problem->gpus[n];
		problem->gpus[n] -= gpus;
		reservations->reserved[n] += gpus;
	}
	problem->jobs[waiting->moldable].fixed = true;
	reservations->grants[i].displaces = true;
}

static bool settle_waiting(const struct pollux_snapshot *snapshot,
			   const struct plx_plan *plan,
			   struct plx_problem *problem,
			   struct pollux_reservations *reservations)
{
	bool changed = false;

	for (int i = 0; i < snapshot->waiting_count; i++) {
		int j = snapshot->waiting[i].moldable;

		if (j < 0 || !reservations->grants[i].granted ||
		    problem->jobs[j].fixed || plan->choices[j].shape.gpus > 0)
			continue;
		keep_reserved(snapshot, i, problem, reservations);
		changed = true;
	}
	return changed;
}

/* Does it stand on a node that is to be left? */
static bool is_to_leave(const struct pollux_snapshot *snapshot, int j)
{
	for (int n = 0; n < snapshot->node_count; n++) {
		if (snapshot->nodes[n].leave && snapshot->jobs[j].gpus[n])
			return true;
	}
	return false;
}

/* For a job that gains; what others gain is the plan's to tell. */
static void report_requeue(struct pollux_job_input *input, int from, int to,
			   double ratio)
{
	char gain[128];

	if (to <= from || !(ratio > 1))
		return;
	plx_moldable_text(&input->moldable, ratio, PLX_MOLDABLE_YES, gain,
			  sizeof(gain));
	snprintf(input->why, sizeof(input->why),
		 "requeued for %d GPUs in place of %d: %s", to, from, gain);
}

static bool settle_running(const struct pollux_snapshot *snapshot,
			   const struct plx_plan *plan, int j,
			   struct plx_problem *problem,
			   struct pollux_job_input *input, bool displaces)
{
	const struct plx_choice *choice = &plan->choices[j];
	struct plx_job *job = &problem->jobs[j];
	struct plx_yardstick fair = plx_fair_share(problem, job);
	struct plx_shape now = plx_shape_of(job->now, problem->node_count);
	struct plx_shape then =
		level_of(&snapshot->jobs[j], choice->gpus, problem->node_count);
	double before = plx_speedup(job, &fair, now);
	double ratio = before > 0 ? plx_speedup(job, &fair, then) / before : 1;
	bool for_others = (displaces && then.gpus <= now.gpus) ||
			  is_to_leave(snapshot, j);
	enum plx_moldable_answer answer = plx_moldable_judge(
		&input->moldable, ratio,
		for_others ? PLX_MOLDABLE_FOR_OTHERS : PLX_MOLDABLE_FOR_ITSELF);

	if (answer == PLX_MOLDABLE_YES) {
		report_requeue(input, now.gpus, then.gpus, ratio);
		return false;
	}
	job->fixed = true;
	refuse(input, ratio, answer);
	return true;
}

bool pollux_moldable_settle(const struct pollux_snapshot *snapshot,
			    const struct plx_plan *plan,
			    struct plx_problem *problem,
			    struct pollux_job_input *inputs,
			    struct pollux_reservations *reservations)
{
	bool changed = settle_waiting(snapshot, plan, problem, reservations);

	for (int j = 0; j < snapshot->job_count; j++) {
		if (pollux_is_moldable(&snapshot->jobs[j]) &&
		    plan->choices[j].changed && !inputs[j].still)
			changed |= settle_running(snapshot, plan, j, problem,
						  &inputs[j],
						  reservations->displaces);
	}
	return changed;
}
