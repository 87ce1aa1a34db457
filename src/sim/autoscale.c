/* SPDX-License-Identifier: MIT */
/* autoscale.c - a cluster that grows and shrinks with what it is used for */

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/problem/objective.h"
#include "sim/autoscale.h"

int plx_autoscaler_init(struct plx_autoscaler *scaler,
			const struct plx_setting *setting,
			const struct plx_policy *policy, struct plx_error *err)
{
	const struct plx_scaling *scaling = &setting->scaling;
	struct plx_autoscaler made = {
		.policy = policy,
		.scaling = *scaling,
		.paid = scaling->min_nodes,
		.usable = scaling->min_nodes,
		.window_s =
			(ceil(PLX_SCALING_MEMORY_S / setting->interval_s) - 1) *
			setting->interval_s,
	};

	made.ready_s =
		calloc((size_t) scaling->max_nodes, sizeof(*made.ready_s));
	if (!made.ready_s)
		return plx_fail(err, "no memory for %d nodes",
				scaling->max_nodes);
	*scaler = made;
	return 0;
}

void plx_autoscaler_release(struct plx_autoscaler *scaler)
{
	free(scaler->ready_s);
	*scaler = (struct plx_autoscaler){ 0 };
}

/*
 * The jobs on the first so many nodes, with nothing yet: what such a cluster
 * is good for in the long run, not what getting there costs.
 */
static struct plx_problem *imagine(struct plx_round *round, int nodes,
				   struct plx_error *err)
{
	struct plx_problem *problem = plx_round_problem(round, err);

	if (!problem)
		return NULL;
	for (int j = 0; j < problem->job_count; j++) {
		struct plx_job *job = &problem->jobs[j];

		memset(job->now, 0,
		       (size_t) problem->node_count * sizeof(*job->now));
		job->restart_s = 0;
	}
	problem->node_count = nodes;
	return problem;
}

int plx_autoscale_utility(const struct plx_policy *policy,
			  struct plx_round *round, int nodes, double *utility,
			  struct plx_error *err)
{
	struct plx_setting all = *round->setting;
	struct plx_round asked = *round;
	struct plx_problem *problem;
	struct plx_plan *plan = NULL;
	double sum = 0;
	int rc = -1;

	/* Jobs may now be on more nodes than are asked about. */
	all.node_count = plx_setting_nodes(&all);
	asked.setting = &all;
	problem = imagine(&asked, nodes, err);
	if (!problem ||
	    (policy->refine && policy->refine(&asked, problem, err) < 0) ||
	    policy->plan(problem, &plan, err) < 0)
		goto done;
	for (int j = 0; j < problem->job_count; j++)
		sum += plx_speedup_alone(&problem->jobs[j],
					 plan->choices[j].shape);
	*utility = sum / (nodes * all.node_gpus);
	rc = 0;
done:
	plx_plan_destroy(plan);
	plx_problem_destroy(problem);
	return rc;
}

struct asked {
	const struct plx_autoscaler *scaler;
	struct plx_round *round;
};

static int ask(void *context, int nodes, double *utility, struct plx_error *err)
{
	const struct asked *asked = context;

	return plx_autoscale_utility(asked->scaler->policy, asked->round, nodes,
				     utility, err);
}

static int find_target(struct plx_autoscaler *scaler, struct plx_round *round,
		       int *nodes, struct plx_error *err)
{
	const struct plx_scaling *scaling = &scaler->scaling;
	struct asked asked = { .scaler = scaler, .round = round };

	return plx_scale_find(ask, &asked, scaling->target, scaling->min_nodes,
			      scaling->max_nodes, scaler->paid, nodes, err);
}

struct load {
	int node;
	int gpus;
};

static int by_load(const void *a, const void *b)
{
	const struct load *x = a;
	const struct load *y = b;

	return x->gpus != y->gpus ? y->gpus - x->gpus : x->node - y->node;
}

static int by_node(const void *a, const void *b)
{
	return ((const struct plx_sim_part *) a)->node -
	       ((const struct plx_sim_part *) b)->node;
}

/* A job's nodes by their new numbers. On one that goes it loses all. */
static void renumber(struct plx_sim_placement *place, const int *numbers,
		     int keep)
{
	bool stays = true;

	for (int i = 0; i < place->count; i++) {
		place->parts[i].node = numbers[place->parts[i].node];
		stays = stays && place->parts[i].node < keep;
	}
	qsort(place->parts, (size_t) place->count, sizeof(*place->parts),
	      by_node);
	if (!stays) {
		place->count = 0;
		place->gpus = 0;
	}
}

/* Only the first nodes stay: number them so that the fullest do. */
static int shrink(struct plx_autoscaler *scaler, struct plx_round *round,
		  int keep, struct plx_error *err)
{
	size_t count = (size_t) scaler->usable;
	struct load *loads = calloc(count, sizeof(*loads));
	int *numbers = calloc(count, sizeof(*numbers));
	int rc = -1;

	if (!loads || !numbers) {
		plx_fail(err, "no memory for %zu nodes", count);
		goto done;
	}
	for (int n = 0; n < scaler->usable; n++)
		loads[n].node = n;
	for (int j = 0; j < round->job_count; j++) {
		const struct plx_sim_placement *place = &round->jobs[j]->place;

		for (int i = 0; i < place->count; i++)
			loads[place->parts[i].node].gpus +=
				place->parts[i].gpus;
	}
	qsort(loads, count, sizeof(*loads), by_load);
	for (int n = 0; n < scaler->usable; n++)
		numbers[loads[n].node] = n;
	for (int j = 0; j < round->job_count; j++)
		renumber(&round->jobs[j]->place, numbers, keep);
	scaler->usable = keep;
	rc = 0;
done:
	free(loads);
	free(numbers);
	return rc;
}

int plx_autoscale(struct plx_autoscaler *scaler, struct plx_round *round,
		  struct plx_error *err)
{
	const struct plx_scaling *scaling = &scaler->scaling;
	int nodes = scaling->min_nodes;

	if (round->job_count > 0 && scaling->max_nodes > nodes &&
	    find_target(scaler, round, &nodes, err) < 0)
		return -1;
	nodes = plx_scale_remember(&scaler->past, scaler->window_s,
				   round->now_s, nodes);
	while (scaler->paid < nodes)
		scaler->ready_s[scaler->paid++] =
			round->now_s + scaling->boot_s;
	scaler->paid = nodes;
	if (scaler->usable > nodes && shrink(scaler, round, nodes, err) < 0)
		return -1;
	while (scaler->usable < scaler->paid &&
	       scaler->ready_s[scaler->usable] <= round->now_s)
		scaler->usable++;
	return 0;
}
