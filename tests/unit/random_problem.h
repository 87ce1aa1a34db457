/* SPDX-License-Identifier: MIT */
/*
 * random_problem.h - clusters in every state that a plugin may meet
 *
 * What jobs have now is valid most of the time, and fits; room may then be
 * taken, nodes lost and limits lowered.
 */
#ifndef PLX_RANDOM_PROBLEM_H
#define PLX_RANDOM_PROBLEM_H

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "core/problem/problem.h"
#include "unit.h"

/* What to draw. */
struct random_spec {
	int nodes;    /* at most; at least 1 */
	int jobs;     /* at most; at least 1 */
	int gpus;     /* of a node, at most */
	bool calm;    /* nothing lost, nothing lowered */
	bool hostile; /* absurd but valid numbers */
	bool rich;    /* weights, sizes and tables too */
	bool stocked; /* other resources, too */
	int kinds;    /* of them; 0: one */
	bool wired;   /* nodes are on switches, which jobs may be bound to */
	bool spare;   /* GPUs that would idle may be given unevenly */
	bool bounded; /* numbers of nodes, nodes required, GPUs a node, too; and
			 jobs that need no GPU on the batch host */
};

static inline int random_int(uint64_t *seed, int low, int high)
{
	return low + (int) (unit_random(seed) % (uint64_t) (high - low + 1));
}

static inline bool chance(uint64_t *seed, int percent)
{
	return random_int(seed, 0, 99) < percent;
}

static inline double spread(uint64_t *seed, double low, double high)
{
	return exp(unit_uniform(seed, log(low), log(high)));
}

static inline void random_goodput(uint64_t *seed, struct plx_goodput *goodput,
				  bool hostile)
{
	double wide = hostile ? 1e3 : 1;
	int base = random_int(seed, 1, 256);

	*goodput = (struct plx_goodput) {
		.model = {
			.alpha_c = spread(seed, 1e-3 / wide, 0.5 * wide),
			.beta_c = spread(seed, 1e-4 / wide, 2e-2 * wide),
			.alpha_n = spread(seed, 1e-2 / wide, wide),
			.beta_n = spread(seed, 1e-4 / wide, 3e-2 * wide),
			.alpha_r = spread(seed, 1e-3 / wide, 0.2 * wide),
			.beta_r = spread(seed, 1e-5 / wide, 2e-2 * wide),
			.gamma = unit_uniform(seed, 1, 10),
		},
		.noise = {
			.sqr = spread(seed, 1e-6 / wide, wide),
			.var = spread(seed, 1e-6 / wide, 1e2 * wide),
		},
		.limits = {
			.base_batch = base,
			.max_batch = base * random_int(seed, 1, 64),
			.min_per_gpu = 1 + random_int(seed, 0, base / 4),
			.max_per_gpu = base * random_int(seed, 1, 4),
			.accumulate = chance(seed, 50),
		},
	};
}

static inline void random_limits(uint64_t *seed, struct plx_job *job,
				 const struct random_spec *spec)
{
	int most = spec->nodes * spec->gpus;

	job->min_gpus = chance(seed, 70) ? 1 : random_int(seed, 1, 3);
	job->max_gpus = random_int(seed, job->min_gpus, most + 2);
	job->profiled = chance(seed, 80);
	job->profiled_gpus =
		chance(seed, 60) ? most : random_int(seed, 1, most);
	random_goodput(seed, &job->goodput, spec->hostile);
	job->fixed = chance(seed, 8);
	job->may_park = chance(seed, 80);
	job->age_s = chance(seed, 10) ? 0 : spread(seed, 1, 1e5);
	job->restart_s = chance(seed, 30) ? 0 : spread(seed, 0.1, 100);
	job->restarts = random_int(seed, 0, 20);
	if (spec->bounded && chance(seed, 50)) {
		job->min_nodes = random_int(seed, 0, spec->nodes);
		job->max_nodes =
			chance(seed, 30)
				? 0
				: random_int(seed, job->min_nodes, spec->nodes);
	}
	if (spec->hostile && chance(seed, 20)) {
		job->age_s = 1e14;
		job->restart_s = 3600;
		job->restarts = INT32_MAX;
		job->max_gpus = INT32_MAX;
		job->profiled_gpus = INT32_MAX;
	}
}

/* GPUs of the node that nobody has now. */
static inline int idle_gpus(const struct plx_problem *problem, int n)
{
	int idle = problem->gpus[n];

	for (int j = 0; j < problem->job_count; j++)
		idle -= problem->jobs[j].now[n];
	return idle;
}

static inline bool has_multi(const struct plx_problem *problem, int n)
{
	for (int j = 0; j < problem->job_count; j++) {
		const int *now = problem->jobs[j].now;

		for (int m = 0; m < problem->node_count; m++) {
			if (now[n] > 0 && m != n && now[m] > 0)
				return true;
		}
	}
	return false;
}

/* Give the job some shape, where it is free. */
static inline void random_now(uint64_t *seed, struct plx_problem *problem,
			      struct plx_job *job)
{
	int per_node = random_int(seed, 1, 4);
	int nodes = chance(seed, 60) ? 1 : random_int(seed, 1, 4);
	int first = random_int(seed, 0, problem->node_count - 1);
	int found = 0;
	int at[4];

	if (job->allowed && !job->allowed[first])
		return;
	for (int i = 0; i < problem->node_count && found < nodes; i++) {
		int n = (first + i) % problem->node_count;

		if (idle_gpus(problem, n) >= per_node &&
		    (!job->allowed || job->allowed[n]) &&
		    (nodes == 1 || !has_multi(problem, n)))
			at[found++] = n;
	}
	if (found < nodes || nodes * per_node < job->min_gpus ||
	    nodes * per_node > job->max_gpus || chance(seed, 15))
		return;
	for (int i = 0; i < nodes; i++)
		job->now[at[i]] = per_node;
	if (!problem->uniform && per_node > 1 && chance(seed, 30) &&
	    nodes * per_node > job->min_gpus)
		job->now[at[0]]--;
	if (chance(seed, 80))
		job->batch_host = at[random_int(seed, 0, nodes - 1)];
}

/* Nodes it needs, those it has in most cases; and what it may have on one. */
static inline void random_bounds(uint64_t *seed, struct plx_problem *problem,
				 int j)
{
	struct plx_job *job = &problem->jobs[j];
	bool needs = chance(seed, 30);

	job->roams = job->batch_host >= 0 && chance(seed, 50);
	assert_int_equal(0, plx_problem_require(problem, j, NULL));
	for (int n = 0; n < problem->node_count; n++)
		job->required[n] =
			needs && chance(seed, job->now[n] > 0 ? 50 : 10);
	if (chance(seed, 70))
		return;
	job->node_gpus = random_int(seed, 1, 4);
	for (int n = 0; n < problem->node_count; n++) {
		if (job->now[n] > job->node_gpus)
			job->node_gpus = job->now[n];
	}
}

/* Powers of two, and one more count. */
static inline void random_sizes(uint64_t *seed, struct plx_job *job)
{
	int extra = random_int(seed, 1, 8);

	job->sizes = calloc(6, sizeof(*job->sizes));
	assert_non_null(job->sizes);
	for (int g = 1; g <= 16; g++) {
		if (g == extra || (g & (g - 1)) == 0)
			job->sizes[job->size_count++] = g;
	}
}

/* All GPUs of its nodes, as many on each, and what it has is so. */
static inline void random_whole(uint64_t *seed, struct plx_job *job, int nodes)
{
	int each = random_int(seed, 1, 4);
	bool so = true;

	free(job->sizes);
	job->sizes = calloc((size_t) nodes, sizeof(*job->sizes));
	assert_non_null(job->sizes);
	for (int k = 0; k < nodes; k++)
		job->sizes[k] = (k + 1) * each;
	job->size_count = nodes;
	job->whole = true;
	job->node_gpus = each;
	for (int n = 0; n < nodes; n++)
		so = so && (job->now[n] == 0 || job->now[n] == each);
	for (int n = 0; n < nodes && !so; n++)
		job->now[n] = 0;
}

/* Speedups that grow, but not much beyond a node. */
static inline void random_table(uint64_t *seed, struct plx_job *job, int nodes)
{
	struct plx_table *table = calloc(1, sizeof(*table));
	double power = unit_uniform(seed, 0.2, 1);

	assert_non_null(table);
	*table = (struct plx_table){
		.nodes = random_int(seed, 1, nodes),
		.gpus = random_int(seed, 1, 16),
		.kept = chance(seed, 20) ? 0 : unit_uniform(seed, 0.5, 1),
	};
	table->speedup = calloc((size_t) (table->nodes * table->gpus),
				sizeof(*table->speedup));
	assert_non_null(table->speedup);
	for (int n = 1; n <= table->nodes; n++) {
		for (int g = n; g <= table->gpus; g++)
			table->speedup[(n - 1) * table->gpus + g - 1] =
				0.3 * pow(g, power) /
				(n > 1 ? unit_uniform(seed, 1, 2) : 1);
	}
	job->table = table;
}

static inline void enrich(uint64_t *seed, struct plx_job *job, int nodes)
{
	/* Of its own, so that the other worlds stay as they were. */
	uint64_t other = *seed;

	if (chance(seed, 50))
		job->weight = spread(seed, 0.1, 10);
	if (chance(seed, 50))
		job->goodput.model.two_nodes = unit_uniform(seed, 0, 2);
	job->goodput.model.growth =
		chance(seed, 50) ? PLX_BY_GPU : PLX_BY_DOUBLING;
	if (chance(seed, 30))
		random_sizes(seed, job);
	if (chance(seed, 30))
		random_table(seed, job, nodes);
	if (!job->table && chance(&other, 20))
		random_whole(&other, job, nodes);
}

/* CPUs, not enough for all. */
static inline void random_consumables(uint64_t *seed,
				      struct plx_problem *problem, int kinds)
{
	size_t all = (size_t) kinds;

	problem->consumable_kinds = kinds;
	problem->consumables =
		calloc((size_t) problem->node_count * all, sizeof(double));
	assert_non_null(problem->consumables);
	for (int j = 0; j < problem->job_count; j++) {
		struct plx_job *job = &problem->jobs[j];

		job->demand = calloc(all, sizeof(double));
		assert_non_null(job->demand);
		for (int k = 0; k < kinds; k++)
			job->demand[k] = random_int(seed, 0, 4);
		if (job->batch_host < 0 || chance(seed, 30))
			continue;
		job->batch_host_demand = calloc(all, sizeof(double));
		assert_non_null(job->batch_host_demand);
		for (int k = 0; k < kinds; k++)
			job->batch_host_demand[k] = random_int(seed, 0, 2);
	}
	for (int i = 0; i < problem->node_count * kinds; i++) {
		int n = i / kinds;

		problem->consumables[i] = random_int(seed, 0, 8);
		for (int j = 0; j < problem->job_count; j++)
			problem->consumables[i] +=
				plx_job_demand(&problem->jobs[j], n,
					       problem->jobs[j].now[n],
					       i % kinds);
	}
}

/*
 * Of two nodes and more, not side by side; some jobs may be on few, and some
 * know what that costs them.
 */
static inline void random_switches(uint64_t *seed, struct plx_problem *problem)
{
	int count = 1 + problem->node_count / random_int(seed, 2, 4);

	assert_int_equal(0, plx_problem_add_switches(problem, NULL));
	for (int n = 0; n < problem->node_count; n++)
		problem->switches[n] = random_int(seed, 0, count - 1);
	for (int n = 0; n < problem->node_count; n++) {
		if (problem->switches[n] >= problem->node_count)
			problem->switches[n] = 0;
	}
	problem->switch_cost =
		chance(seed, 20) ? 0 : unit_uniform(seed, 0.01, 2);
	for (int j = 0; j < problem->job_count; j++) {
		struct plx_model *model = &problem->jobs[j].goodput.model;

		if (chance(seed, 30))
			problem->jobs[j].max_switches =
				random_int(seed, 1, count);
		if (problem->jobs[j].profiled && chance(seed, 30))
			model->per_switch = unit_uniform(seed, 0.01, 4);
	}
	plx_problem_price(problem);
}

/* Rigid jobs came, nodes went, limits changed. */
static inline void disturb(uint64_t *seed, struct plx_problem *problem)
{
	for (int n = 0; n < problem->node_count; n++) {
		if (chance(seed, 15))
			problem->gpus[n] =
				random_int(seed, 0, problem->gpus[n]);
	}
	for (int j = 0; j < problem->job_count; j++) {
		struct plx_job *job = &problem->jobs[j];

		if (chance(seed, 10))
			job->max_gpus =
				random_int(seed, job->min_gpus, job->max_gpus);
		if (job->allowed && chance(seed, 20))
			job->allowed[random_int(
				seed, 0, problem->node_count - 1)] = false;
	}
}

static inline struct plx_problem *random_problem(uint64_t *seed,
						 const struct random_spec *spec)
{
	static const double powers[] = { -1, -1, 1, 0, -10, -INFINITY, 0.5 };
	int nodes = random_int(seed, 1, spec->nodes);
	int jobs = random_int(seed, 1, spec->jobs);
	struct plx_problem *problem = plx_problem_create(nodes, jobs, NULL);

	assert_non_null(problem);
	problem->fairness =
		powers[random_int(seed, 0, (int) ARRAY_SIZE(powers) - 1)];
	problem->uniform = chance(seed, 70);
	problem->idle = spec->spare && chance(seed, 50);
	problem->interference = chance(seed, 70);
	problem->seed = unit_random(seed);
	for (int n = 0; n < nodes; n++) {
		problem->gpus_total[n] =
			chance(seed, 70) ? spec->gpus
					 : random_int(seed, 0, spec->gpus);
		problem->gpus[n] =
			chance(seed, 70)
				? problem->gpus_total[n]
				: random_int(seed, 0, problem->gpus_total[n]);
	}
	for (int j = 0; j < jobs; j++) {
		struct plx_job *job = &problem->jobs[j];

		job->id = (uint32_t) (100 + 7 * j);
		random_limits(seed, job, spec);
		if (chance(seed, 20)) {
			assert_int_equal(0, plx_problem_restrict(problem, j,
								 NULL));
			job->allowed[random_int(seed, 0, nodes - 1)] = false;
		}
		random_now(seed, problem, job);
		if (spec->bounded)
			random_bounds(seed, problem, j);
		if (spec->rich)
			enrich(seed, job, nodes);
	}
	if (spec->stocked && chance(seed, 30))
		random_consumables(seed, problem,
				   spec->kinds ? spec->kinds : 1);
	if (spec->wired)
		random_switches(seed, problem);
	if (!spec->calm && chance(seed, 50))
		disturb(seed, problem);
	return problem;
}

#endif
