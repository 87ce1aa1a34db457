/* SPDX-License-Identifier: MIT */
/* ga_run.c - the memory of a cycle of the genetic algorithm */

#include <stdlib.h>
#include <string.h>

#include "core/policy/ga_run.h"
#include "core/search/search.h"

void plx_ga_shuffle(struct plx_ga_run *run, int *items, int count)
{
	for (int i = count - 1; i > 0; i--) {
		int k = plx_ga_below(run, i + 1);
		int item = items[i];

		items[i] = items[k];
		items[k] = item;
	}
}

void plx_genome_seal(const struct plx_ga_run *run, struct plx_genome *genome)
{
	uint64_t hash = 0xcbf29ce484222325u;
	size_t at = 0;

	for (; at + 4 <= run->genes; at += 4) {
		uint64_t four = 0;

		for (size_t i = 0; i < 4; i++)
			four = four << 16 | genome->genes[at + i];
		hash = (hash ^ four) * 0x9e3779b97f4a7c15u;
		hash ^= hash >> 32;
	}
	for (; at < run->genes; at++)
		hash = (hash ^ genome->genes[at]) * 0x100000001b3u;
	genome->hash = hash;
}

bool plx_genome_same(const struct plx_ga_run *run, const struct plx_genome *a,
		     const struct plx_genome *b)
{
	return a->hash == b->hash &&
	       memcmp(a->genes, b->genes, run->genes * sizeof(uint16_t)) == 0;
}

/* It cannot be left without anything. */
static bool must_have(const struct plx_job *job, int node_count)
{
	return job->fixed ||
	       (!job->may_park && plx_shape_of(job->now, node_count).gpus > 0);
}

static int add_job(struct plx_ga_run *run, int j, struct plx_error *err)
{
	const struct plx_job *job = &run->problem->jobs[j];
	struct plx_ga_job *row = &run->jobs[run->job_count];
	size_t first = (size_t) run->job_count * (size_t) run->node_count;
	int held = plx_shape_of(job->now, run->node_count).gpus;

	for (int n = 0; n < run->node_count; n++)
		run->now[first + (size_t) n] = (uint16_t) job->now[n];
	row->job = job;
	row->index = j;
	row->must = must_have(job, run->node_count);
	row->cap = plx_gpu_cap(job, held);
	row->strict = run->problem->uniform || job->batch_host >= 0 ||
		      job->allowed || job->required || job->node_gpus ||
		      job->size_count > 0 || job->min_nodes > 1 ||
		      job->max_nodes > 0 || job->table;
	row->weight = plx_weight(job);
	run->weight += row->weight;
	run->job_count++;
	return plx_ga_value_init(run, row, err);
}

static int add_jobs(struct plx_ga_run *run, struct plx_error *err)
{
	const struct plx_problem *problem = run->problem;

	for (int must = 1; must >= 0; must--) {
		for (int j = 0; j < problem->job_count; j++) {
			if (must_have(&problem->jobs[j], run->node_count) ==
				    must &&
			    add_job(run, j, err) < 0)
				return -1;
		}
	}
	return 0;
}

static bool reserve(struct plx_ga_run *run, size_t jobs, size_t nodes)
{
	size_t all = 2 * (size_t) run->size;
	size_t kinds = (size_t) run->problem->consumable_kinds;

	run->genes = jobs * nodes;
	run->jobs = calloc(jobs + 1, sizeof(*run->jobs));
	run->now = calloc(run->genes + 1, sizeof(*run->now));
	run->genomes = calloc(all, sizeof(*run->genomes));
	run->memory = calloc(all * run->genes + 1, sizeof(*run->memory));
	run->order = calloc(all, sizeof(*run->order));
	run->nodes = calloc(nodes + 1, sizeof(*run->nodes));
	run->used = calloc(nodes + 1, sizeof(*run->used));
	run->sharers = calloc(nodes + 1, sizeof(*run->sharers));
	run->row = calloc(nodes + 1, sizeof(*run->row));
	run->consumable_left =
		calloc(nodes * kinds + 1, sizeof(*run->consumable_left));
	if (!run->jobs || !run->now || !run->genomes || !run->memory ||
	    !run->order || !run->nodes || !run->used || !run->sharers ||
	    !run->row || !run->consumable_left)
		return false;
	for (size_t i = 0; i < all; i++)
		run->genomes[i].genes = run->memory + i * run->genes;
	return true;
}

struct plx_ga_run *plx_ga_run_create(const struct plx_problem *problem,
				     int size, uint64_t random,
				     struct plx_error *err)
{
	struct plx_ga_run *run = calloc(1, sizeof(*run));

	if (!run) {
		plx_fail(err, "no memory for a genetic algorithm");
		return NULL;
	}
	run->problem = problem;
	run->node_count = problem->node_count;
	run->size = size;
	run->random = random;
	if (!reserve(run, (size_t) problem->job_count,
		     (size_t) problem->node_count))
		plx_fail(err,
			 "no memory for %d allocations of %d jobs on %d nodes",
			 2 * size, problem->job_count, problem->node_count);
	else if (add_jobs(run, err) == 0)
		return run;
	plx_ga_run_destroy(run);
	return NULL;
}

void plx_ga_run_destroy(struct plx_ga_run *run)
{
	if (!run)
		return;
	for (int j = 0; run->jobs && j < run->job_count; j++)
		free(run->jobs[j].cells);
	free(run->jobs);
	free(run->now);
	free(run->genomes);
	free(run->memory);
	free(run->order);
	free(run->nodes);
	free(run->used);
	free(run->sharers);
	free(run->row);
	free(run->consumable_left);
	free(run);
}
