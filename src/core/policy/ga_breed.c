/* SPDX-License-Identifier: MIT */
/*
 * ga_breed.c - selection, crossover and mutation
 *
 * The chances are those of the published code and of the NSGA-II library
 * that it uses.
 */
#include <string.h>

#include "core/policy/ga_run.h"

#define CROSSOVER_CHANCE 0.9
#define RESET_CHANCE	 0.1 /* of a row: back to what the job has now */
#define ERASE_ROW_CHANCE 0.1 /* of a row: to lose ... */
#define ERASE_CHANCE	 0.1 /* ... each of its nodes with this chance */
#define TRIES_A_CHILD	 100

/* Everybody takes part once before anybody does again. */
struct lottery {
	int drawn;
};

static const struct plx_genome *draw(struct plx_ga_run *run,
				     struct lottery *lottery)
{
	if (lottery->drawn == run->parents) {
		plx_ga_shuffle(run, run->order, run->parents);
		lottery->drawn = 0;
	}
	return &run->genomes[run->order[lottery->drawn++]];
}

static bool dominates(const struct plx_genome *a, const struct plx_genome *b)
{
	return a->fitness >= b->fitness && a->utility >= b->utility &&
	       (a->fitness > b->fitness || a->utility > b->utility);
}

static const struct plx_genome *tournament(struct plx_ga_run *run,
					   struct lottery *lottery)
{
	const struct plx_genome *a = draw(run, lottery);
	const struct plx_genome *b = draw(run, lottery);

	if (dominates(a, b))
		return a;
	if (dominates(b, a))
		return b;
	if (a->crowding != b->crowding)
		return a->crowding > b->crowding ? a : b;
	return plx_ga_below(run, 2) ? a : b;
}

/* The first rows of one parent, the others of the other. */
static void cross(struct plx_ga_run *run, const struct plx_genome *top,
		  const struct plx_genome *bottom, int rows, uint16_t *child)
{
	size_t cut = (size_t) rows * (size_t) run->node_count;

	memcpy(child, top->genes, cut * sizeof(*child));
	memcpy(child + cut, bottom->genes + cut,
	       (run->genes - cut) * sizeof(*child));
}

static void forget(struct plx_ga_run *run, uint16_t *child)
{
	size_t nodes = (size_t) run->node_count;

	for (int j = 0; j < run->job_count; j++) {
		uint16_t *row = child + (size_t) j * nodes;

		if (plx_ga_chance(run) < RESET_CHANCE)
			memcpy(row, run->now + (size_t) j * nodes,
			       nodes * sizeof(*row));
		if (plx_ga_chance(run) >= ERASE_ROW_CHANCE)
			continue;
		for (size_t n = 0; n < nodes; n++) {
			if (plx_ga_chance(run) < ERASE_CHANCE)
				row[n] = 0;
		}
	}
}

/* GPUs used of each node, and by how many jobs. */
static void count(struct plx_ga_run *run, const uint16_t *child)
{
	size_t nodes = (size_t) run->node_count;

	memset(run->used, 0, nodes * sizeof(*run->used));
	memset(run->sharers, 0, nodes * sizeof(*run->sharers));
	for (int j = 0; j < run->job_count; j++) {
		const uint16_t *row = child + (size_t) j * nodes;

		for (size_t n = 0; n < nodes; n++) {
			run->used[n] += row[n];
			run->sharers[n] += row[n] > 0;
		}
	}
}

/* Nodes with a free GPU, listed in run->nodes. */
static int free_nodes(struct plx_ga_run *run)
{
	int count = 0;

	for (int n = 0; n < run->node_count; n++) {
		if (run->used[n] < run->problem->gpus[n])
			run->nodes[count++] = n;
	}
	return count;
}

/*
 * On each node with a free GPU one row grows on average, and one of those
 * that are there: by any number of GPUs, whether free or not.
 */
static void grow(struct plx_ga_run *run, uint16_t *child)
{
	double any = 1.0 / run->job_count;
	int free;

	count(run, child);
	free = free_nodes(run);
	for (int j = 0; j < run->job_count; j++) {
		uint16_t *row = child + (size_t) j * (size_t) run->node_count;

		for (int i = 0; i < free; i++) {
			int n = run->nodes[i];
			int most = run->problem->gpus[n];
			double chance = any;

			if (row[n] > 0)
				chance += (1 - any) / run->sharers[n];
			if (plx_ga_chance(run) < chance)
				row[n] += (uint16_t) plx_ga_below(
					run, most - row[n] + 1);
		}
	}
}

static bool is_new(const struct plx_ga_run *run, const struct plx_genome *child)
{
	for (int i = 0; i < run->parents + run->children; i++) {
		if (plx_genome_same(run, child, &run->genomes[i]))
			return false;
	}
	return true;
}

/* The child is in the next free place; there it stays if it is unique. */
static void raise(struct plx_ga_run *run)
{
	struct plx_genome *child = &run->genomes[run->parents + run->children];

	forget(run, child->genes);
	grow(run, child->genes);
	plx_ga_repair(run, child->genes);
	plx_genome_seal(run, child);
	if (is_new(run, child)) {
		plx_ga_judge(run, child);
		run->children++;
	}
}

static void mate(struct plx_ga_run *run, struct lottery *lottery)
{
	const struct plx_genome *a = tournament(run, lottery);
	const struct plx_genome *b = tournament(run, lottery);
	int rows = 0;

	if (plx_ga_chance(run) < CROSSOVER_CHANCE)
		rows = plx_ga_below(run, run->job_count);
	for (int i = 0; i < 2 && run->children < run->size; i++) {
		struct plx_genome *child =
			&run->genomes[run->parents + run->children];

		cross(run, i ? a : b, i ? b : a, rows, child->genes);
		raise(run);
	}
}

void plx_ga_breed(struct plx_ga_run *run)
{
	struct lottery lottery = { .drawn = run->parents };

	for (int i = 0; i < run->parents; i++)
		run->order[i] = i;
	run->children = 0;
	for (long tries = (long) TRIES_A_CHILD * run->size;
	     run->children < run->size && tries > 0; tries -= 2)
		mate(run, &lottery);
}
