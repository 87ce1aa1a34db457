/* SPDX-License-Identifier: MIT */
/*
 * problem.c - the snapshot's memory, and the check that it makes sense
 *
 * What plx_problem_check() accepts, every other function here may rely on:
 * bounded sizes (no sum overflows an int), finite numbers, indexes in range.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/problem/problem.h"

#define NODES_MAX     PLX_SWITCHES_MAX
#define JOBS_MAX      65536
#define NODE_GPUS_MAX 4096
#define FAIRNESS_MAX  10.0
#define WEIGHT_MAX    1e6
#define AMOUNT_MAX    1e15
#define COST_MAX      100.0

/* calloc() that gives a pointer for nothing, too. */
static void *zeroed(int count, size_t size)
{
	return calloc(count > 0 ? (size_t) count : 1, size);
}

struct plx_problem *plx_problem_create(int node_count, int job_count,
				       struct plx_error *err)
{
	struct plx_problem *problem = NULL;

	if (node_count < 0 || node_count > NODES_MAX || job_count < 0 ||
	    job_count > JOBS_MAX) {
		plx_fail(err, "%d nodes and %d jobs: want 0 to %d of each",
			 node_count, job_count, NODES_MAX);
		return NULL;
	}
	problem = zeroed(1, sizeof(*problem));
	if (!problem)
		goto fail;
	problem->node_count = node_count;
	problem->fairness = -1;
	problem->hysteresis = 0.005;
	problem->gpus = zeroed(node_count, sizeof(int));
	problem->gpus_total = zeroed(node_count, sizeof(int));
	problem->jobs = zeroed(job_count, sizeof(*problem->jobs));
	if (!problem->gpus || !problem->gpus_total || !problem->jobs)
		goto fail;
	problem->job_count = job_count;
	for (int j = 0; j < job_count; j++) {
		problem->jobs[j].batch_host = -1;
		problem->jobs[j].now = zeroed(node_count, sizeof(int));
		if (!problem->jobs[j].now)
			goto fail;
	}
	return problem;
fail:
	plx_fail(err, "no memory for %d nodes and %d jobs", node_count,
		 job_count);
	plx_problem_destroy(problem);
	return NULL;
}

int plx_problem_restrict(struct plx_problem *problem, int j,
			 struct plx_error *err)
{
	struct plx_job *job = &problem->jobs[j];

	if (!job->allowed)
		job->allowed = zeroed(problem->node_count, sizeof(bool));
	if (!job->allowed)
		return plx_fail(err, "no memory for the nodes of job %u",
				job->id);
	for (int n = 0; n < problem->node_count; n++)
		job->allowed[n] = true;
	return 0;
}

int plx_problem_require(struct plx_problem *problem, int j,
			struct plx_error *err)
{
	struct plx_job *job = &problem->jobs[j];

	if (!job->required)
		job->required = zeroed(problem->node_count, sizeof(bool));
	if (!job->required)
		return plx_fail(err, "no memory for the nodes of job %u",
				job->id);
	return 0;
}

int plx_problem_add_switches(struct plx_problem *problem, struct plx_error *err)
{
	if (!problem->switches)
		problem->switches = zeroed(problem->node_count, sizeof(int));
	if (!problem->switches)
		return plx_fail(err, "no memory for the switches of %d nodes",
				problem->node_count);
	return 0;
}

void plx_problem_price(struct plx_problem *problem)
{
	for (int j = 0; problem->switches && j < problem->job_count; j++) {
		struct plx_model *model = &problem->jobs[j].goodput.model;
		double took = 1 + problem->switch_cost * model->further;

		if (!problem->jobs[j].profiled || model->per_switch > 0)
			continue;
		model->per_switch = problem->switch_cost;
		model->alpha_n /= took;
		model->beta_n /= took;
		model->further = 0;
	}
}

void plx_switch_set_init(struct plx_switch_set *set, int node_count)
{
	size_t words = ((size_t) node_count + 63) / 64;

	set->count = 0;
	memset(set->bits, 0, words * sizeof(*set->bits));
}

struct plx_shape plx_shape_of(const int *gpus, int node_count)
{
	struct plx_shape shape = { .nodes = 0, .gpus = 0 };

	for (int n = 0; n < node_count; n++) {
		shape.nodes += gpus[n] > 0;
		shape.gpus += gpus[n];
	}
	return shape;
}

int plx_switches_of(const int *gpus, int node_count, const int *switches)
{
	struct plx_switch_set set;

	if (!switches)
		return 0;
	plx_switch_set_init(&set, node_count);
	for (int n = 0; n < node_count; n++) {
		if (gpus[n] > 0)
			plx_switch_set_add(&set, switches[n]);
	}
	return set.count;
}

struct plx_shape plx_shape_on(const int *gpus, int node_count,
			      const int *switches)
{
	struct plx_shape shape = plx_shape_of(gpus, node_count);

	shape.further =
		plx_further(plx_switches_of(gpus, node_count, switches));
	return shape;
}

void plx_problem_destroy(struct plx_problem *problem)
{
	if (!problem)
		return;
	for (int j = 0; j < problem->job_count; j++) {
		free(problem->jobs[j].now);
		free(problem->jobs[j].allowed);
		free(problem->jobs[j].required);
		free(problem->jobs[j].sizes);
		free(problem->jobs[j].demand);
		free(problem->jobs[j].batch_host_demand);
		if (problem->jobs[j].table)
			free(problem->jobs[j].table->speedup);
		free(problem->jobs[j].table);
	}
	free(problem->jobs);
	free(problem->consumables);
	free(problem->switches);
	free(problem->gpus);
	free(problem->gpus_total);
	free(problem);
}

/* May the job have so many GPUs on node n, and that as one of its nodes? */
static bool may_have_on(const struct plx_job *job, int n, int gpus)
{
	if (gpus == 0)
		return !plx_job_sits(job, n);
	if (!plx_job_usable(job, n) ||
	    (job->node_gpus && gpus > job->node_gpus))
		return false;
	return !job->whole || gpus == job->node_gpus;
}

bool plx_job_may_have(const struct plx_problem *problem,
		      const struct plx_job *job, const int *gpus)
{
	struct plx_shape shape = plx_shape_of(gpus, problem->node_count);
	int nodes = shape.nodes;
	int all = shape.gpus;

	if (all == 0)
		return true;
	if (job->max_switches &&
	    plx_switches_of(gpus, problem->node_count, problem->switches) >
		    job->max_switches)
		return false;
	for (int n = 0; n < problem->node_count; n++) {
		if (!may_have_on(job, n, gpus[n]))
			return false;
		if (problem->uniform && !problem->idle && gpus[n] > 0 &&
		    (long) gpus[n] * nodes != all)
			return false;
	}
	/* The node of its script is one of its nodes, whether used or not. */
	if (job->batch_host >= 0 && gpus[job->batch_host] == 0 &&
	    job->max_nodes && nodes >= job->max_nodes)
		return false;
	return nodes >= job->min_nodes &&
	       (!job->max_nodes || nodes <= job->max_nodes) &&
	       plx_listed(job->sizes, job->size_count, all) &&
	       all >= job->min_gpus && all <= job->max_gpus;
}

static bool sane_seconds(double seconds)
{
	return isfinite(seconds) && seconds >= 0 && seconds < 1e15;
}

static int check_sizes(const struct plx_job *job, struct plx_error *err)
{
	for (int i = 0; i < job->size_count; i++) {
		if (job->sizes[i] < 1 ||
		    (i > 0 && job->sizes[i] <= job->sizes[i - 1]))
			return plx_fail(err,
					"job %u: size %d: want rising numbers "
					"from 1",
					job->id, job->sizes[i]);
	}
	return 0;
}

static int check_whole(const struct plx_job *job, struct plx_error *err)
{
	bool fits = job->node_gpus > 0 && job->size_count > 0;

	for (int i = 0; fits && i < job->size_count; i++)
		fits = job->sizes[i] % job->node_gpus == 0;
	if (!job->whole || fits)
		return 0;
	return plx_fail(err,
			"job %u: of whole nodes of %d GPUs its sizes are no "
			"multiples",
			job->id, job->node_gpus);
}

static int check_table(const struct plx_job *job, struct plx_error *err)
{
	const struct plx_table *table = job->table;

	if (table->nodes < 1 || table->gpus < 1 || !table->speedup)
		return plx_fail(err, "job %u: its table of speedups is empty",
				job->id);
	if (!(table->kept >= 0 && table->kept <= 1))
		return plx_fail(err,
				"job %u: keeps %g of its speedup: want "
				"0 to 1",
				job->id, table->kept);
	for (long i = 0; i < (long) table->nodes * table->gpus; i++) {
		if (!(table->speedup[i] >= 0) || isinf(table->speedup[i]))
			return plx_fail(err,
					"job %u: speedup %g: want finite "
					"numbers from 0",
					job->id, table->speedup[i]);
	}
	return 0;
}

static int check_job(const struct plx_problem *problem,
		     const struct plx_job *job, struct plx_error *err)
{
	if (job->min_gpus < 1 || job->max_gpus < job->min_gpus)
		return plx_fail(err,
				"job %u: %d to %d GPUs: want 1 <= min <= max",
				job->id, job->min_gpus, job->max_gpus);
	if (job->min_nodes < 0 || job->max_nodes < 0 ||
	    (job->max_nodes && job->max_nodes < job->min_nodes))
		return plx_fail(err,
				"job %u: %d to %d nodes: want 0 <= min <= max",
				job->id, job->min_nodes, job->max_nodes);
	if (job->max_switches < 0)
		return plx_fail(err, "job %u: %d switches: want 0 or more",
				job->id, job->max_switches);
	if (job->node_gpus < 0)
		return plx_fail(err, "job %u: %d GPUs a node: want 0 or more",
				job->id, job->node_gpus);
	if (job->max_by < 0 || job->max_by >= PLX_BOUNDS)
		return plx_fail(err, "job %u: limit of kind %d: want 0 to %d",
				job->id, job->max_by, PLX_BOUNDS - 1);
	if (job->profiled && job->profiled_gpus < 1)
		return plx_fail(err, "job %u: %d GPUs profiled: want 1 or more",
				job->id, job->profiled_gpus);
	if (job->profiled && !plx_goodput_valid(&job->goodput))
		return plx_fail(err, "job %u: its goodput has bad numbers",
				job->id);
	if (job->batch_host < -1 || job->batch_host >= problem->node_count)
		return plx_fail(err, "job %u: batch host %d of %d nodes",
				job->id, job->batch_host, problem->node_count);
	if (!sane_seconds(job->age_s) || !sane_seconds(job->restart_s) ||
	    job->restarts < 0)
		return plx_fail(err,
				"job %u: age %g s, %d restarts of %g s: want "
				"finite numbers from 0",
				job->id, job->age_s, job->restarts,
				job->restart_s);
	if (!(job->least_goodput >= 0) || !isfinite(job->least_goodput))
		return plx_fail(err, "job %u: least goodput %g: want 0 or more",
				job->id, job->least_goodput);
	if (!job->now)
		return plx_fail(err, "job %u: what it has now is missing",
				job->id);
	if (!(job->weight >= 0 && job->weight <= WEIGHT_MAX))
		return plx_fail(err, "job %u: weight %g: want 0 to %g", job->id,
				job->weight, WEIGHT_MAX);
	if (check_sizes(job, err) < 0 || check_whole(job, err) < 0)
		return -1;
	return job->table ? check_table(job, err) : 0;
}

static int check_node(const struct plx_problem *problem, int n, long held,
		      struct plx_error *err)
{
	int gpus = problem->gpus[n];
	int total = problem->gpus_total[n];
	/* Room taken for others lowers gpus below what jobs have. */
	long limit = gpus > total ? gpus : total;

	if (gpus < 0 || total < 0 || limit > NODE_GPUS_MAX)
		return plx_fail(err, "node %d: %d of %d GPUs: want 0 to %d", n,
				gpus, total, NODE_GPUS_MAX);
	if (held > limit)
		return plx_fail(err, "node %d: jobs have %ld of its %ld GPUs",
				n, held, limit);
	return 0;
}

/* Job by job, as they lie in memory. */
static int check_nodes(const struct plx_problem *problem, struct plx_error *err)
{
	long *held = zeroed(problem->node_count, sizeof(*held));
	int rc = -1;

	if (!held)
		return plx_fail(err, "no memory to check %d nodes",
				problem->node_count);
	for (int j = 0; j < problem->job_count; j++) {
		const struct plx_job *job = &problem->jobs[j];

		for (int n = 0; n < problem->node_count; n++) {
			if (job->now[n] < 0) {
				plx_fail(err, "job %u has %d GPUs on node %d",
					 job->id, job->now[n], n);
				goto done;
			}
			held[n] += job->now[n];
		}
	}
	for (int n = 0; n < problem->node_count; n++) {
		if (check_node(problem, n, held[n], err) < 0)
			goto done;
	}
	rc = 0;
done:
	free(held);
	return rc;
}

static int by_value(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *) a;
	uint32_t y = *(const uint32_t *) b;

	return (x > y) - (x < y);
}

/* Ties go to the lower id, so ids must differ. */
static int check_ids(const struct plx_problem *problem, struct plx_error *err)
{
	uint32_t *ids = zeroed(problem->job_count, sizeof(*ids));
	int rc = 0;

	if (!ids)
		return plx_fail(err, "no memory for %d job ids",
				problem->job_count);
	for (int j = 0; j < problem->job_count; j++)
		ids[j] = problem->jobs[j].id;
	qsort(ids, (size_t) problem->job_count, sizeof(*ids), by_value);
	for (int j = 1; j < problem->job_count && rc == 0; j++) {
		if (ids[j] == ids[j - 1])
			rc = plx_fail(err, "job %u is there twice", ids[j]);
	}
	free(ids);
	return rc;
}

static int check_amounts(const double *amounts, size_t count,
			 struct plx_error *err)
{
	for (size_t i = 0; i < count; i++) {
		if (!(amounts[i] >= 0 && amounts[i] <= AMOUNT_MAX))
			return plx_fail(err,
					"%g of some resource: want 0 to %g",
					amounts[i], AMOUNT_MAX);
	}
	return 0;
}

/* What nodes have besides GPUs, and jobs take of it. */
static int check_consumables(const struct plx_problem *problem,
			     struct plx_error *err)
{
	size_t kinds = (size_t) problem->consumable_kinds;

	if (problem->consumable_kinds < 0 ||
	    problem->consumable_kinds > PLX_KINDS_MAX ||
	    (kinds > 0 && !problem->consumables))
		return plx_fail(err, "%d kinds of resources: want 0 to %d",
				problem->consumable_kinds, PLX_KINDS_MAX);
	if (check_amounts(problem->consumables,
			  kinds * (size_t) problem->node_count, err) < 0)
		return -1;
	for (int j = 0; j < problem->job_count; j++) {
		const double *demand = problem->jobs[j].demand;

		if (demand && check_amounts(demand, kinds, err) < 0)
			return -1;
	}
	return 0;
}

static int check_switches(const struct plx_problem *problem,
			  struct plx_error *err)
{
	if (!(problem->switch_cost >= 0 && problem->switch_cost <= COST_MAX))
		return plx_fail(err, "switch cost %g: want 0 to %g",
				problem->switch_cost, COST_MAX);
	for (int n = 0; problem->switches && n < problem->node_count; n++) {
		if (problem->switches[n] < 0 ||
		    problem->switches[n] >= problem->node_count)
			return plx_fail(err, "node %d: switch %d of %d nodes",
					n, problem->switches[n],
					problem->node_count);
	}
	return 0;
}

int plx_problem_check(const struct plx_problem *problem, struct plx_error *err)
{
	if (problem->node_count < 0 || problem->node_count > NODES_MAX ||
	    problem->job_count < 0 || problem->job_count > JOBS_MAX)
		return plx_fail(err, "%d nodes and %d jobs: want 0 to %d",
				problem->node_count, problem->job_count,
				NODES_MAX);
	if (isnan(problem->fairness) || problem->fairness > FAIRNESS_MAX)
		return plx_fail(err, "fairness %g: want -inf to %g",
				problem->fairness, FAIRNESS_MAX);
	if (!(problem->hysteresis >= 0 && problem->hysteresis <= 1))
		return plx_fail(err, "hysteresis %g: want 0 to 1",
				problem->hysteresis);
	for (int j = 0; j < problem->job_count; j++) {
		if (check_job(problem, &problem->jobs[j], err) < 0)
			return -1;
	}
	if (check_switches(problem, err) < 0 || check_nodes(problem, err) < 0 ||
	    check_consumables(problem, err) < 0)
		return -1;
	return check_ids(problem, err);
}
