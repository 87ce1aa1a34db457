/* SPDX-License-Identifier: MIT */
/*
 * ga_sort.c - fronts, crowding, and who survives
 *
 * Deb et al., "A fast and elitist multiobjective genetic algorithm: NSGA-II",
 * 2002. With two objectives, going from the fittest down, only the last of a
 * front so far need be asked whether it dominates the next.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/policy/ga_run.h"

static int by_fitness(const void *a, const void *b)
{
	const struct plx_genome *x = a;
	const struct plx_genome *y = b;

	if (x->fitness != y->fitness)
		return x->fitness > y->fitness ? -1 : 1;
	if (x->utility != y->utility)
		return x->utility > y->utility ? -1 : 1;
	return (x->hash > y->hash) - (x->hash < y->hash);
}

static int by_front(const void *a, const void *b)
{
	const struct plx_genome *x = a;
	const struct plx_genome *y = b;

	if (x->front != y->front)
		return x->front - y->front;
	return by_fitness(a, b);
}

static int by_crowding(const void *a, const void *b)
{
	const struct plx_genome *x = a;
	const struct plx_genome *y = b;

	if (x->crowding != y->crowding)
		return x->crowding > y->crowding ? -1 : 1;
	return by_fitness(a, b);
}

static void find_fronts(struct plx_ga_run *run, int count)
{
	int *last = run->order; /* of each front so far */
	int fronts = 0;

	qsort(run->genomes, (size_t) count, sizeof(*run->genomes), by_fitness);
	for (int i = 0; i < count; i++) {
		struct plx_genome *genome = &run->genomes[i];
		int k = 0;

		for (; k < fronts; k++) {
			const struct plx_genome *end = &run->genomes[last[k]];

			if (end->utility < genome->utility ||
			    (end->utility == genome->utility &&
			     end->fitness == genome->fitness))
				break;
		}
		fronts += k == fronts;
		genome->front = k;
		last[k] = i;
	}
	qsort(run->genomes, (size_t) count, sizeof(*run->genomes), by_front);
}

static bool equal_value(const struct plx_genome *a, const struct plx_genome *b)
{
	return a->fitness == b->fitness && a->utility == b->utility;
}

/* A front, fittest first; of those worth the same all but one count 0. */
static void crowd(struct plx_ga_run *run, struct plx_genome *front, int count)
{
	int *unique = run->order;
	int uniques = 0;
	double fitness_span = front[0].fitness - front[count - 1].fitness;
	double utility_span = front[count - 1].utility - front[0].utility;

	for (int i = 0; i < count; i++) {
		front[i].crowding = count <= 2 ? INFINITY : 0;
		if (i == 0 || !equal_value(&front[i - 1], &front[i]))
			unique[uniques++] = i;
	}
	for (int i = 0; i < uniques && count > 2 && uniques > 1; i++) {
		struct plx_genome *at = &front[unique[i]];
		const struct plx_genome *better = at;
		const struct plx_genome *worse = at;

		if (i == 0 || i == uniques - 1) {
			at->crowding = INFINITY;
			continue;
		}
		better = &front[unique[i - 1]];
		worse = &front[unique[i + 1]];
		at->crowding =
			(better->fitness - worse->fitness) / fitness_span / 2 +
			(worse->utility - better->utility) / utility_span / 2;
	}
}

void plx_ga_survive(struct plx_ga_run *run)
{
	int count = run->parents + run->children;
	int first = 0;

	find_fronts(run, count);
	while (first < count && first < run->size) {
		struct plx_genome *front = &run->genomes[first];
		int end = first;

		while (end < count && run->genomes[end].front == front->front)
			end++;
		crowd(run, front, end - first);
		if (end > run->size)
			qsort(front, (size_t) (end - first), sizeof(*front),
			      by_crowding);
		first = end;
	}
	run->parents = count < run->size ? count : run->size;
	run->children = 0;
}
