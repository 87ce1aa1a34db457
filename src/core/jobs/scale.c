/* SPDX-License-Identifier: MIT */
/* scale.c - how many nodes a cluster should have */

#include <math.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "core/search/plan.h"
#include "core/jobs/scale.h"
#include "core/problem/objective.h"

/* What was asked about, and found. */
struct quest {
	plx_scale_ask ask;
	void *context;
	double target;
	int min, max;
	int low, high;	     /* the target is between; low may be high */
	double above, below; /* utility there; of one not asked, the other's */
};

/* Too much is used: up, ever faster, to where less is or there is no more. */
static int look_up(struct quest *q, struct plx_error *err)
{
	for (int step = 1; q->high < q->max; step *= 2) {
		q->low = q->high;
		q->above = q->below;
		q->high = step < q->max - q->low ? q->low + step : q->max;
		if (q->ask(q->context, q->high, &q->below, err) < 0)
			return -1;
		if (q->below < q->target)
			return 0;
	}
	q->low = q->high;
	q->above = q->below;
	return 0;
}

/* The same down. */
static int look_down(struct quest *q, struct plx_error *err)
{
	for (int step = 1; q->low > q->min; step *= 2) {
		q->high = q->low;
		q->below = q->above;
		q->low = step < q->high - q->min ? q->high - step : q->min;
		if (q->ask(q->context, q->low, &q->above, err) < 0)
			return -1;
		if (q->above >= q->target)
			return 0;
	}
	q->high = q->low;
	q->below = q->above;
	return 0;
}

int plx_scale_find(plx_scale_ask ask, void *context, double target, int min,
		   int max, int near, int *nodes, struct plx_error *err)
{
	struct quest q = {
		.ask = ask,
		.context = context,
		.target = target,
		.min = min,
		.max = max,
		.low = near,
		.high = near,
	};

	if (ask(context, q.low, &q.above, err) < 0)
		return -1;
	q.below = q.above;
	if ((q.above < target ? look_down : look_up)(&q, err) < 0)
		return -1;
	while (q.high - q.low > 1) {
		int middle = q.low + (q.high - q.low) / 2;
		double utility;

		if (ask(context, middle, &utility, err) < 0)
			return -1;
		if (utility < target) {
			q.high = middle;
			q.below = utility;
		} else {
			q.low = middle;
			q.above = utility;
		}
	}
	*nodes = fabs(q.below - target) < fabs(q.above - target) ? q.high
								 : q.low;
	return 0;
}

int plx_scale_remember(struct plx_scaler *scaler, double window_s, double now_s,
		       int nodes)
{
	int keep = 0;

	/* What is smaller and older will never be the most again. */
	while (scaler->count > 0 &&
	       scaler->past[scaler->count - 1].nodes <= nodes)
		scaler->count--;
	/* Too many: the last one stands in for us, and errs by being more. */
	if (scaler->count == PLX_SCALE_PAST)
		scaler->past[scaler->count - 1].at_s = now_s;
	else
		scaler->past[scaler->count++].nodes = nodes;
	scaler->past[scaler->count - 1].at_s = now_s;
	while (scaler->past[keep].at_s < now_s - window_s)
		keep++;
	scaler->count -= keep;
	memmove(scaler->past, scaler->past + keep,
		(size_t) scaler->count * sizeof(scaler->past[0]));
	return scaler->past[0].nodes;
}

static int copy_sizes(const struct plx_job *from, struct plx_job *to,
		      struct plx_error *err)
{
	size_t size = (size_t) from->size_count * sizeof(*from->sizes);

	to->sizes = NULL;
	if (!size)
		return 0;
	to->sizes = malloc(size);
	if (!to->sizes) {
		to->size_count = 0;
		return plx_fail(err, "no memory for the sizes of job %u",
				to->id);
	}
	memcpy(to->sizes, from->sizes, size);
	return 0;
}

/* The jobs on so many empty nodes. */
static struct plx_problem *imagine(const struct plx_problem *from, int nodes,
				   int node_gpus, struct plx_error *err)
{
	struct plx_problem *problem =
		plx_problem_create(nodes, from->job_count, err);

	if (!problem)
		return NULL;
	problem->fairness = from->fairness;
	problem->hysteresis = 0;
	problem->uniform = from->uniform;
	problem->interference = from->interference;
	problem->seed = from->seed;
	for (int n = 0; n < nodes; n++) {
		problem->gpus[n] = node_gpus;
		problem->gpus_total[n] = node_gpus;
	}
	for (int j = 0; j < from->job_count; j++) {
		struct plx_job *job = &problem->jobs[j];
		int *now = job->now;

		*job = from->jobs[j];
		job->now = now;
		job->allowed = NULL;
		job->required = NULL;
		job->node_gpus = 0;
		job->whole = false;
		job->table = NULL;
		job->demand = NULL;
		job->batch_host_demand = NULL;
		job->fixed = false;
		job->may_park = true;
		job->batch_host = -1;
		job->restart_s = 0;
		if (copy_sizes(&from->jobs[j], job, err) < 0) {
			plx_problem_destroy(problem);
			return NULL;
		}
	}
	return problem;
}

int plx_scale_utility(const struct plx_problem *problem, int nodes,
		      int node_gpus, double *utility, struct plx_error *err)
{
	struct plx_problem *imagined = NULL;
	struct plx_plan *plan = NULL;
	double sum = 0;
	int rc = -1;

	if (nodes < 1 || node_gpus < 1 || problem->job_count < 1) {
		*utility = nodes < 1 && problem->job_count > 0 ? INFINITY : 0;
		return 0;
	}
	imagined = imagine(problem, nodes, node_gpus, err);
	if (!imagined || plx_plan_search(imagined, &plan, err) < 0)
		goto done;
	for (int j = 0; j < plan->job_count; j++)
		sum += plx_speedup_alone(&imagined->jobs[j],
					 plan->choices[j].shape);
	*utility = sum / ((double) nodes * node_gpus);
	rc = 0;
done:
	plx_plan_destroy(plan);
	plx_problem_destroy(imagined);
	return rc;
}

struct asked {
	const struct plx_problem *problem;
	int node_gpus;
};

static int ask_problem(void *context, int nodes, double *utility,
		       struct plx_error *err)
{
	const struct asked *asked = context;

	return plx_scale_utility(asked->problem, nodes, asked->node_gpus,
				 utility, err);
}

static int within(int nodes, const struct plx_scale_rule *rule)
{
	if (nodes < rule->min_nodes)
		return rule->min_nodes;
	return nodes > rule->max_nodes ? rule->max_nodes : nodes;
}

int plx_scale_decide(struct plx_scaler *scaler,
		     const struct plx_scale_rule *rule,
		     const struct plx_problem *problem, int node_gpus, int near,
		     double now_s, int *nodes, double *utility,
		     struct plx_error *err)
{
	struct asked asked = { .problem = problem, .node_gpus = node_gpus };
	int wanted = within(near, rule);
	double found;

	if (plx_scale_utility(problem, near, node_gpus, &found, err) < 0)
		return -1;
	if ((found < rule->low || found > rule->high) &&
	    plx_scale_find(ask_problem, &asked, (rule->low + rule->high) / 2,
			   rule->min_nodes, rule->max_nodes, wanted, &wanted,
			   err) < 0)
		return -1;
	*nodes = plx_scale_remember(scaler, rule->window_s, now_s, wanted);
	*utility = found;
	return 0;
}
