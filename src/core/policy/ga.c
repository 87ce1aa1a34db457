/* SPDX-License-Identifier: MIT */
/* ga.c - the generations, and what is kept between cycles */

#include <stdlib.h>
#include <string.h>

#include "core/policy/ga_run.h"

#define POPULATION_MAX	10000
#define GENERATIONS_MAX 1000000
#define PUBLISHED	100 /* both of them */

struct plx_ga {
	struct plx_ga_options options;
	uint64_t random;
	/* The first front of the last cycle. */
	int count;	 /* genomes; 0: none */
	int job_count;	 /* rows of each */
	int node_count;	 /* columns */
	uint32_t *ids;	 /* of each row's job */
	uint16_t *genes; /* [count][job_count][node_count] */
};

struct plx_ga_options plx_ga_published(uint64_t seed)
{
	return (struct plx_ga_options){ .population = PUBLISHED,
					.generations = PUBLISHED,
					.seed = seed };
}

struct plx_ga *plx_ga_create(const struct plx_ga_options *options,
			     struct plx_error *err)
{
	struct plx_ga *ga = NULL;

	if (options->population < 2 || options->population > POPULATION_MAX)
		plx_fail(err, "population of %d: want 2 to %d",
			 options->population, POPULATION_MAX);
	else if (options->generations < 1 ||
		 options->generations > GENERATIONS_MAX)
		plx_fail(err, "%d generations: want 1 to %d",
			 options->generations, GENERATIONS_MAX);
	else if (!(ga = calloc(1, sizeof(*ga))))
		plx_fail(err, "no memory for a genetic algorithm");
	if (!ga)
		return NULL;
	ga->options = *options;
	ga->random = options->seed;
	return ga;
}

void plx_ga_destroy(struct plx_ga *ga)
{
	if (!ga)
		return;
	free(ga->ids);
	free(ga->genes);
	free(ga);
}

/* The row that the job had in the last cycle, or -1. */
static int old_row(const struct plx_ga *ga, uint32_t id)
{
	for (int j = 0; j < ga->job_count; j++) {
		if (ga->ids[j] == id)
			return j;
	}
	return -1;
}

/* Nodes are known by their place; new ones are empty. */
static void recall_row(const struct plx_ga *ga, struct plx_ga_run *run, int j)
{
	int old = old_row(ga, run->jobs[j].job->id);
	size_t nodes = (size_t) run->node_count;
	size_t rows = (size_t) ga->job_count;
	size_t common = (size_t) ga->node_count;

	if (old < 0)
		return;
	if (common > nodes)
		common = nodes;
	for (int i = 0; i < ga->count; i++)
		memcpy(run->genomes[i].genes + (size_t) j * nodes,
		       ga->genes + ((size_t) i * rows + (size_t) old) *
					   (size_t) ga->node_count,
		       common * sizeof(*ga->genes));
}

/* The first generation: what is remembered, or what jobs have now. */
static void start(const struct plx_ga *ga, struct plx_ga_run *run)
{
	int count = ga->count > 0 ? ga->count : 1;

	if (ga->count == 0)
		memcpy(run->genomes[0].genes, run->now,
		       run->genes * sizeof(*run->now));
	for (int j = 0; j < run->job_count && ga->count > 0; j++)
		recall_row(ga, run, j);
	for (int i = 0; i < count; i++) {
		struct plx_genome *genome = &run->genomes[i];
		struct plx_genome *place = &run->genomes[run->parents];
		struct plx_genome moved = *genome;
		bool unique = true;

		plx_ga_repair(run, genome->genes);
		plx_genome_seal(run, genome);
		for (int k = 0; k < run->parents && unique; k++)
			unique =
				!plx_genome_same(run, genome, &run->genomes[k]);
		if (!unique)
			continue;
		plx_ga_judge(run, genome);
		moved = *genome;
		*genome = *place;
		*place = moved;
		run->parents++;
	}
	plx_ga_survive(run);
}

static bool stopped(const struct plx_problem *problem)
{
	return problem->stop && problem->stop(problem->stop_context);
}

static void evolve(const struct plx_ga *ga, struct plx_ga_run *run)
{
	start(ga, run);
	for (int i = 1; i < ga->options.generations; i++) {
		if (stopped(run->problem))
			return;
		plx_ga_breed(run);
		if (run->children == 0)
			return;
		plx_ga_survive(run);
	}
}

static int remember(struct plx_ga *ga, const struct plx_ga_run *run,
		    struct plx_error *err)
{
	size_t size = run->genes;
	uint32_t *ids = calloc((size_t) run->job_count + 1, sizeof(*ids));
	uint16_t *genes =
		calloc((size_t) run->parents * size + 1, sizeof(*genes));

	if (!ids || !genes) {
		free(ids);
		free(genes);
		return plx_fail(err, "no memory for %d allocations",
				run->parents);
	}
	free(ga->ids);
	free(ga->genes);
	ga->ids = ids;
	ga->genes = genes;
	ga->job_count = run->job_count;
	ga->node_count = run->node_count;
	ga->random = run->random;
	ga->count = 0;
	for (int j = 0; j < run->job_count; j++)
		ids[j] = run->jobs[j].job->id;
	for (int i = 0; i < run->parents && run->genomes[i].front == 0; i++)
		memcpy(genes + (size_t) ga->count++ * size,
		       run->genomes[i].genes, size * sizeof(*genes));
	return 0;
}

static const struct plx_genome *fittest(const struct plx_ga_run *run)
{
	const struct plx_genome *best = &run->genomes[0];

	for (int i = 1; i < run->parents; i++) {
		if (run->genomes[i].fitness > best->fitness)
			best = &run->genomes[i];
	}
	return best;
}

int plx_ga_plan(struct plx_ga *ga, const struct plx_problem *problem,
		struct plx_plan **plan, struct plx_error *err)
{
	struct plx_ga_run *run = NULL;
	struct plx_plan *made = NULL;
	int rc = -1;

	if (plx_problem_check(problem, err) < 0)
		goto done;
	run = plx_ga_run_create(problem, ga->options.population, ga->random,
				err);
	if (!run)
		goto done;
	if (run->genes > 0)
		evolve(ga, run);
	made = plx_ga_plan_make(run, fittest(run), err);
	if (!made || remember(ga, run, err) < 0)
		goto done;
	*plan = made;
	made = NULL; /* now the caller's */
	rc = 0;
done:
	plx_plan_destroy(made);
	plx_ga_run_destroy(run);
	return rc;
}

int plx_ga_search(const struct plx_problem *problem, struct plx_plan **plan,
		  struct plx_error *err)
{
	struct plx_ga_options options = plx_ga_published(problem->seed);
	struct plx_ga *ga = plx_ga_create(&options, err);
	int rc = -1;

	if (ga)
		rc = plx_ga_plan(ga, problem, plan, err);
	plx_ga_destroy(ga);
	return rc;
}
