/* SPDX-License-Identifier: MIT */
/* ga_plan.c - a matrix of the genetic algorithm as a plan */

#include <stdio.h>
#include <stdlib.h>

#include "core/policy/ga_run.h"

#define ROUNDING 1e-9 /* of long sums */

/* All choices share one block of counts, the first one's. */
static struct plx_plan *plan_create(const struct plx_ga_run *run,
				    struct plx_error *err)
{
	size_t jobs = (size_t) run->job_count;
	size_t nodes = (size_t) run->node_count;
	struct plx_plan *plan = calloc(1, sizeof(*plan));
	struct plx_choice *choices = calloc(jobs + 1, sizeof(*choices));
	int *gpus = calloc(jobs * nodes + 1, sizeof(*gpus));

	if (!plan || !choices || !gpus) {
		plx_fail(err, "no memory for a plan of %zu jobs", jobs);
		free(plan);
		free(choices);
		free(gpus);
		return NULL;
	}
	plan->job_count = run->job_count;
	plan->node_count = run->node_count;
	plan->choices = choices;
	choices[0].gpus = gpus;
	for (size_t j = 1; j < jobs; j++)
		choices[j].gpus = gpus + j * nodes;
	return plan;
}

static void explain(struct plx_choice *choice, int held)
{
	int gpus = choice->shape.gpus;
	int nodes = choice->shape.nodes;

	if (gpus == 0)
		snprintf(choice->why, sizeof(choice->why),
			 held > 0 ? "parked: no GPU in the fittest plan bred"
				  : "waits: no GPU in the fittest plan bred");
	else if (!choice->changed)
		snprintf(choice->why, sizeof(choice->why),
			 "stays: %d GPU%s in the fittest plan bred", gpus,
			 gpus > 1 ? "s" : "");
	else
		snprintf(choice->why, sizeof(choice->why),
			 "%d -> %d GPUs on %d node%s in the fittest plan bred",
			 held, gpus, nodes, nodes > 1 ? "s" : "");
}

static void choose(const struct plx_ga_run *run, int row,
		   const struct plx_genome *genome, struct plx_choice *choice)
{
	const struct plx_ga_job *job = &run->jobs[row];
	const uint16_t *genes =
		genome->genes + (size_t) row * (size_t) run->node_count;
	int held = plx_shape_of(job->job->now, run->node_count).gpus;

	for (int n = 0; n < run->node_count; n++) {
		choice->gpus[n] = genes[n];
		choice->changed =
			choice->changed || genes[n] != job->job->now[n];
	}
	choice->shape = plx_gene_shape(genes, run->node_count);
	choice->speedup = plx_speedup(job->job, &job->fair, choice->shape);
	explain(choice, held);
}

/* What jobs have now, in the problem's order; fitness as all else says. */
static double fitness_now(const struct plx_ga_run *run, struct plx_error *err)
{
	size_t nodes = (size_t) run->node_count;
	int *gpus = calloc(run->genes + 1, sizeof(*gpus));
	double fitness;

	if (!gpus) {
		plx_fail(err, "no memory for %d jobs", run->job_count);
		return -1;
	}
	for (int j = 0; j < run->job_count; j++) {
		const struct plx_job *job = &run->problem->jobs[j];

		for (size_t n = 0; n < nodes; n++)
			gpus[(size_t) j * nodes + n] = job->now[n];
	}
	fitness = plx_plan_fitness(run->problem, gpus);
	free(gpus);
	return fitness;
}

struct plx_plan *plx_ga_plan_make(const struct plx_ga_run *run,
				  const struct plx_genome *genome,
				  struct plx_error *err)
{
	struct plx_plan *plan = plan_create(run, err);

	if (!plan)
		return NULL;
	for (int j = 0; j < run->job_count; j++)
		choose(run, j, genome, &plan->choices[run->jobs[j].index]);
	plan->fitness_now = fitness_now(run, err);
	plan->fitness = plx_plan_fitness(run->problem, plan->choices[0].gpus);
	plan->bound = plx_ga_bound(run) * (1 + ROUNDING);
	if (plan->fitness >= 0 && plan->fitness_now >= 0)
		return plan;
	plx_fail(err, "no memory to judge the plan");
	plx_plan_destroy(plan);
	return NULL;
}
