/* SPDX-License-Identifier: GPL-2.0-or-later */
/* snapshot_problem.c - from a snapshot to what the core decides upon */

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/jobs/limit.h"
#include "core/jobs/prepare.h"
#include "sched/pollux/plan/moldable_plan.h"
#include "sched/pollux/plan/snapshot_problem.h"
#include "sched/pollux/snapshot/elastic_alloc.h"
#include "sched/pollux/plan/reservations.h"
#include "sched/pollux/plan/consumables.h"

/* Of a job that has not said what a resize costs it. */
#define RESTART_S 10
/* What a move of the whole job costs beyond a restart of its ranks. */
#define MOVE_S 3

/* What jobs have learnt, for as long as slurmctld runs. */
static struct plx_app_profiles profiles;

static int at_most(int a, int b)
{
	return a < b ? a : b;
}

static int at_least(int a, int b)
{
	return a > b ? a : b;
}

/* GPUs on a node that is to be left, of jobs that cannot leave it now. */
static int stuck_gpus(const struct pollux_snapshot *snapshot,
		      const struct pollux_job_input *inputs, int n)
{
	int held = 0;

	for (int j = 0; j < snapshot->job_count; j++) {
		const struct pollux_job *job = &snapshot->jobs[j];
		const int *now = inputs[j].busy ? inputs[j].target : job->gpus;

		if (!job->runs || inputs[j].busy || inputs[j].still ||
		    (job->batch_host == n && !job->moves && !job->roams))
			held += now[n];
	}
	return held;
}

/*
 * GPUs that elastic jobs may have on a node: theirs and, if the node may be
 * used, the free ones, as far as there is a CPU for each.
 */
static int elastic_gpus(const struct pollux_snapshot *snapshot,
			const struct pollux_job_input *inputs, int n,
			const struct plx_resources *held)
{
	const struct pollux_node *node = &snapshot->nodes[n];
	struct plx_resources all = node->left;
	int gpus = (int) held->gpus;

	if (node->leave)
		return stuck_gpus(snapshot, inputs, n);
	if (!node->usable || node->surplus)
		return gpus;
	plx_resources_add(&all, held, 1);
	return at_least(gpus, at_most((int) all.gpus, (int) all.cpus));
}

/* What elastic jobs may have of each node, and what of it is theirs. */
static int fill_gpus(const struct pollux_snapshot *snapshot,
		     const struct pollux_job_input *inputs,
		     struct plx_problem *problem, struct plx_error *err)
{
	struct plx_resources *held =
		calloc((size_t) snapshot->node_count + 1, sizeof(*held));

	if (!held)
		return plx_fail(err, "no memory for what nodes have");
	for (int j = 0; j < snapshot->job_count; j++) {
		const struct pollux_job *job = &snapshot->jobs[j];
		const struct plx_node_alloc *allocs =
			pollux_job_allocs(snapshot, job);

		for (int i = 0; i < job->alloc_count; i++)
			plx_resources_add(&held[allocs[i].node], &allocs[i].has,
					  1);
	}
	for (int n = 0; n < snapshot->node_count; n++) {
		problem->gpus[n] = elastic_gpus(snapshot, inputs, n, &held[n]);
		problem->gpus_total[n] = snapshot->nodes[n].gpus;
	}
	free(held);
	return 0;
}

static int cluster_gpus(const struct pollux_snapshot *snapshot)
{
	int gpus = 0;

	for (int n = 0; n < snapshot->node_count; n++)
		gpus += snapshot->nodes[n].usable ? snapshot->nodes[n].gpus : 0;
	return at_least(gpus, 1);
}

static bool is_measured(const struct pollux_job *job)
{
	return job->status.has_hint && !job->unlike_model &&
	       plx_goodput_valid(&job->status.hint.job);
}

int pollux_problem_measured(const struct pollux_job *job)
{
	return is_measured(job) ? at_least(job->status.hint.profiled.gpus, 1)
				: 1;
}

/*
 * The limits of a job that has not told them yet, as libpollux will find
 * them; zeros, as nobody has them, when the user left them to the program.
 */
static struct plx_limits limits_of(const struct plx_options *options)
{
	int most = options->max_batch;

	if (!options->base_batch || !most)
		return (struct plx_limits){ 0 };
	return (struct plx_limits){
		.base_batch = options->base_batch,
		.max_batch = most,
		.min_per_gpu = at_least(options->min_gpu_batch, 1),
		.max_per_gpu = options->max_gpu_batch
				       ? at_most(options->max_gpu_batch, most)
				       : most,
		.accumulate = true,
	};
}

/* A job that keeps its time limit as it is goes on keeping it, if it can. */
static void fill_limit(const struct pollux_snapshot *snapshot,
		       const struct pollux_job *from, struct plx_job *job)
{
	const struct plx_hint *hint = &from->status.hint;
	struct plx_shape now;

	if (from->unlike_model || from->options.at_limit == PLX_LIMIT_REQUEUE ||
	    !isfinite(from->limit_s) || !(from->limit_s > 0) ||
	    !(from->ends_s > 0) || !(hint->samples_left > 0))
		return;
	now = plx_shape_on(from->gpus, snapshot->node_count,
			   snapshot->switches);
	if (now.gpus && !plx_limit_misses(hint, now, from->ends_s))
		job->least_goodput = hint->samples_left / from->ends_s;
}

static void fill_goodput(const struct pollux_snapshot *snapshot,
			 const struct pollux_job *from, struct plx_job *job)
{
	const struct plx_hint *hint = &from->status.hint;

	job->profiled_gpus = pollux_problem_measured(from);
	job->restart_s = RESTART_S;
	job->goodput.limits = limits_of(&from->options);
	job->gpu_type = plx_types_digest(
		from->kind >= 0 && from->kind < snapshot->kind_count
			? snapshot->kinds[from->kind].type
			: "");
	if (!is_measured(from))
		return;
	job->profiled = true;
	job->goodput = hint->job;
	job->restart_s = hint->restart_s;
	job->samples_left = hint->samples_left;
	fill_limit(snapshot, from, job);
}

/*
 * The node of its script cannot be given up in place, its GPUs there can. A
 * node that is to be left, though, is left by the whole job, which costs it a
 * little more.
 */
static void fill_batch_host(const struct pollux_snapshot *snapshot,
			    const struct pollux_job *from,
			    const struct pollux_job_input *input,
			    struct plx_job *job)
{
	job->batch_host = input->leaves ? -1 : from->batch_host;
	/* A limit of nodes, or switches, counts that of its script, too. */
	job->roams = from->roams && !from->within && !from->max_switches;
	if (input->leaves)
		return;
	if (from->batch_host < 0 || !snapshot->nodes[from->batch_host].leave ||
	    !from->moves)
		return;
	job->batch_host = -1;
	job->restart_s += MOVE_S;
}

/* Do limits allow it so many GPUs? */
static bool may_have(const struct pollux_job *from, int gpus)
{
	return !from->capped || from->most_gpus >= gpus;
}

/* No more than limits allow; and nothing that comes too late to be of use. */
static void limit(const struct pollux_job *from, int held, bool whole,
		  struct plx_job *job)
{
	if (!whole)
		job->max_gpus = at_most(job->max_gpus, held);
	if (from->capped && from->most_gpus < job->max_gpus) {
		job->max_gpus = from->most_gpus;
		job->max_by = PLX_BOUND_LIMITS;
	}
	if (held && from->ends_s > 0 && from->ends_s <= job->restart_s)
		job->max_gpus = at_most(job->max_gpus, held);
	job->max_gpus = at_least(job->max_gpus, job->min_gpus);
}

/* Can it have the node for itself: is nobody there who cannot go? */
static bool may_be_alone(const struct pollux_snapshot *snapshot,
			 const struct pollux_job *from, int n)
{
	const struct pollux_node *node = &snapshot->nodes[n];

	return node->gpus == from->whole_gpus && node->cpus_rigid <= 0 &&
	       node->batch_hosts == (from->batch_host == n);
}

/* Is the node open to the job, as far as nodes go? */
static bool may_use(const struct pollux_snapshot *snapshot,
		    const struct pollux_job *from, int n)
{
	return from->allowed[n] &&
	       (!from->whole_gpus || may_be_alone(snapshot, from, n)) &&
	       snapshot->nodes[n].usable && !snapshot->nodes[n].surplus &&
	       (!from->within || from->within[n]) &&
	       !(from->shunned && from->shunned[n]);
}

/* Can it have all nodes that its user named? */
static bool is_whole(const struct pollux_snapshot *snapshot,
		     const struct plx_problem *problem, int j)
{
	const struct pollux_job *from = &snapshot->jobs[j];

	for (int n = 0; from->required && n < snapshot->node_count; n++) {
		if (from->required[n] &&
		    !(may_use(snapshot, from, n) &&
		      (problem->jobs[j].now[n] > 0 || problem->gpus[n] > 0)))
			return false;
	}
	return true;
}

/*
 * --nodelist: a new job would have all of these. While one is not to be had,
 * a job goes on with what it has, and gains nothing.
 */
static int require(const struct pollux_snapshot *snapshot, int j, bool whole,
		   struct plx_problem *problem, struct plx_error *err)
{
	const bool *required = snapshot->jobs[j].required;
	struct plx_job *job = &problem->jobs[j];

	if (required && whole && plx_problem_require(problem, j, err) < 0)
		return -1;
	for (int n = 0; required && n < snapshot->node_count; n++) {
		if (whole)
			job->required[n] = required[n];
		else
			job->allowed[n] = job->allowed[n] && job->now[n] > 0;
	}
	return 0;
}

/* What it has counts, whatever limits became. */
static void limit_on_node(const struct pollux_snapshot *snapshot, int j,
			  struct plx_job *job)
{
	job->node_gpus = snapshot->jobs[j].node_gpus;
	for (int n = 0; job->node_gpus && n < snapshot->node_count; n++)
		job->node_gpus = at_least(job->node_gpus, job->now[n]);
}

/* Whole nodes: of its sizes those that are multiples of a node's GPUs. */
static int fill_whole(const struct pollux_snapshot *snapshot,
		      const struct pollux_job *from, struct plx_job *job,
		      struct plx_error *err)
{
	const struct plx_sizes nodes = { .step = from->whole_gpus };
	int *list = NULL;
	int count = 0;
	int kept = 0;
	int held = 0;

	if (plx_sizes_list(&nodes, 1, job->max_gpus, &list, &count, err) < 0)
		return -1;
	for (int n = 0; n < snapshot->node_count; n++)
		held += job->now[n];
	for (int i = 0; i < count; i++) {
		if (list[i] >= job->min_gpus &&
		    plx_listed(job->sizes, job->size_count, list[i]))
			list[kept++] = list[i];
	}
	/* There is none: it stays as it is. */
	if (!kept)
		list[kept++] = plx_sizes_up(&nodes, at_least(held, 1));
	free(job->sizes);
	job->sizes = list;
	job->size_count = kept;
	job->whole = true;
	job->node_gpus = from->whole_gpus;
	job->min_gpus = list[0];
	job->max_gpus = at_least(job->max_gpus, list[0]);
	return 0;
}

/* Its least is one of its sizes, as others count on what it will keep. */
static int fill_sizes(const struct pollux_snapshot *snapshot,
		      const struct pollux_job *from, struct plx_job *job,
		      struct plx_error *err)
{
	const struct plx_sizes *sizes = &from->options.sizes;
	int least = plx_sizes_up(sizes, job->min_gpus);

	if (least && least <= job->max_gpus)
		job->min_gpus = least;
	if (plx_sizes_list(sizes, job->min_gpus, job->max_gpus, &job->sizes,
			   &job->size_count, err) < 0)
		return -1;
	return from->whole_gpus ? fill_whole(snapshot, from, job, err) : 0;
}

/* On how many nodes, and with how many GPUs. */
static int fill_range(const struct pollux_snapshot *snapshot, int j, bool whole,
		      struct plx_job *job, struct plx_error *err)
{
	const struct pollux_job *from = &snapshot->jobs[j];
	int most = cluster_gpus(snapshot);
	int required = 0;
	int nodes = 0;

	for (int n = 0; n < snapshot->node_count; n++) {
		required += from->required && from->required[n];
		nodes += job->now[n] > 0 && may_use(snapshot, from, n);
	}
	job->min_gpus = at_least(from->options.min_gpus, 1);
	job->max_gpus = from->options.max_gpus ? from->options.max_gpus : most;
	job->max_by =
		from->options.max_gpus ? PLX_BOUND_OWN : PLX_BOUND_CLUSTER;
	job->max_nodes = from->max_nodes;
	job->min_nodes = whole ? at_least(from->min_nodes, required)
			       : at_most(from->min_nodes, nodes);
	/* One on each, at least. */
	job->min_gpus = at_least(job->min_gpus, job->min_nodes);
	/* More than it wants is of no use to it, whatever its model says. */
	if (from->told && from->status.want &&
	    from->status.want < job->max_gpus) {
		job->max_gpus = from->status.want;
		job->max_by = PLX_BOUND_PROGRAM;
	}
	job->max_gpus = at_least(job->max_gpus, job->min_gpus);
	limit_on_node(snapshot, j, job);
	return fill_sizes(snapshot, from, job, err);
}

/* What it has counts, wherever Slurm started it. */
static void fill_switches(const struct plx_problem *problem,
			  const struct pollux_job *from, struct plx_job *job)
{
	if (from->max_switches)
		job->max_switches =
			at_least(from->max_switches,
				 plx_switches_of(job->now, problem->node_count,
						 problem->switches));
}

static int fill_job(const struct pollux_snapshot *snapshot, int j,
		    const struct pollux_job_input *input,
		    struct plx_problem *problem, struct plx_error *err)
{
	const struct pollux_job *from = &snapshot->jobs[j];
	struct plx_job *job = &problem->jobs[j];
	const int *now = input->busy ? input->target : from->gpus;
	bool whole = false;
	int held = 0;

	for (int n = 0; n < snapshot->node_count; n++)
		held += from->gpus[n];
	job->id = from->id;
	job->owner = from->uid;
	memcpy(job->now, now, sizeof(*now) * (size_t) snapshot->node_count);
	fill_switches(problem, from, job);
	whole = is_whole(snapshot, problem, j);
	if (fill_range(snapshot, j, whole, job, err) < 0)
		return -1;
	fill_goodput(snapshot, from, job);
	plx_validation_apply(&input->validation, input->most_gpus, job);
	limit(from, held, whole, job);
	job->fixed = !from->runs || input->busy || input->still;
	/* Of whole nodes it would keep one: it waits in the queue instead. */
	job->may_park = from->runs && (!from->whole_gpus || from->moves);
	fill_batch_host(snapshot, from, input, job);
	job->age_s = (double) from->age_s;
	job->service_s = input->service_s;
	job->restarts = (int) from->target.serial;
	if (pollux_is_moldable(from))
		pollux_moldable_fill(snapshot, j, input, job);
	if (plx_problem_restrict(problem, j, err) < 0)
		return -1;
	for (int n = 0; n < snapshot->node_count; n++)
		job->allowed[n] = may_use(snapshot, from, n) &&
				  (held || may_have(from, job->min_gpus));
	return require(snapshot, j, whole, problem, err);
}

static const enum plx_weights weights[] = {
	[POLLUX_WEIGHTS_NO] = PLX_WEIGHTS_ALIKE,
	[POLLUX_WEIGHTS_SERVICE] = PLX_WEIGHTS_SERVICE,
	[POLLUX_WEIGHTS_LEFT] = PLX_WEIGHTS_LEFT,
};

/* What a job says counts for others of its kind as far as it is believed. */
static int prepare(const struct pollux_snapshot *snapshot,
		   const struct pollux_params *params,
		   const struct pollux_job_input *inputs,
		   struct plx_problem *problem, struct plx_error *err)
{
	struct plx_prepare_job *jobs =
		calloc((size_t) problem->job_count + 1, sizeof(*jobs));
	const struct plx_prepare how = {
		.profiles = &profiles,
		.jobs = jobs,
		.weights = weights[params->weights],
	};
	int rc = -1;

	if (!jobs)
		return plx_fail(err, "no memory for %d jobs",
				problem->job_count);
	for (int j = 0; j < problem->job_count; j++) {
		enum plx_strikes strikes = inputs[j].validation.strikes;

		jobs[j].teaches = strikes == PLX_STRIKES_NONE;
		jobs[j].learns = strikes != PLX_STRIKES_TWO;
		jobs[j].assumes = pollux_is_moldable(&snapshot->jobs[j]);
	}
	rc = plx_prepare(problem, &how, err);
	free(jobs);
	return rc;
}

/* Which nodes are on the same switch, where that is known. */
static int wire(const struct pollux_snapshot *snapshot,
		struct plx_problem *problem, struct plx_error *err)
{
	if (!snapshot->switches)
		return 0;
	if (plx_problem_add_switches(problem, err) < 0)
		return -1;
	memcpy(problem->switches, snapshot->switches,
	       sizeof(int) * (size_t) snapshot->node_count);
	return 0;
}

struct plx_problem *pollux_problem_create(
	const struct pollux_snapshot *snapshot,
	const struct pollux_params *params,
	const struct pollux_job_input *inputs,
	struct pollux_reservations *reservations, struct plx_error *err)
{
	struct plx_problem *problem = plx_problem_create(
		snapshot->node_count,
		snapshot->job_count + snapshot->moldable_count, err);
	struct pollux_consumables consumables;

	if (!problem)
		return NULL;
	plx_prepare_defaults(problem);
	problem->fairness = params->fairness;
	problem->interference = params->interference;
	problem->uniform = params->uniform != POLLUX_UNIFORM_NO;
	problem->idle = params->uniform == POLLUX_UNIFORM_MOSTLY;
	problem->switch_cost = params->switch_cost / 100;
	if (wire(snapshot, problem, err) < 0 ||
	    fill_gpus(snapshot, inputs, problem, err) < 0)
		goto fail;
	for (int n = 0; n < snapshot->node_count; n++)
		reservations->reserved[n] = problem->gpus[n];
	for (int j = 0; j < problem->job_count; j++) {
		if (fill_job(snapshot, j, &inputs[j], problem, err) < 0)
			goto fail;
	}
	if (prepare(snapshot, params, inputs, problem, err) < 0 ||
	    pollux_consumables_fill(snapshot, problem, &consumables, err) < 0 ||
	    plx_problem_check(problem, err) < 0 ||
	    pollux_reservations_make(snapshot, &params->terms, problem,
				     &consumables, reservations->grants,
				     err) < 0)
		goto fail;
	for (int n = 0; n < snapshot->node_count; n++)
		reservations->reserved[n] -= problem->gpus[n];
	reservations->held = consumables.held;
	pollux_moldable_grant(snapshot, problem, reservations);
	return problem;
fail:
	plx_problem_destroy(problem);
	return NULL;
}
