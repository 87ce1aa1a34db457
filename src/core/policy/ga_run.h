/* SPDX-License-Identifier: MIT */
/*
 * ga_run.h - the inside of the genetic algorithm; for core/ only
 *
 * ga.c		the generations, and what is kept between cycles
 * ga_run.c	memory of a cycle
 * ga_value.c	what a matrix is worth
 * ga_repair.c	from any matrix to one that is legal
 * ga_breed.c	selection, crossover, mutation
 * ga_sort.c	fronts, crowding, who survives
 * ga_plan.c	the best matrix as a plan
 *
 * Rows are in the order of precedence: jobs that must keep something first,
 * then all others, each in the problem's order.
 */
#ifndef PLX_CORE_GA_RUN_H
#define PLX_CORE_GA_RUN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/policy/ga.h"
#include "core/problem/objective.h"

/* What a shape is worth to a job; found out when first asked for. */
struct plx_ga_cell {
	double speedup;
	double stays; /* its term in the mean if it has just this now */
	double moves; /* if it has to restart for it */
	bool known;
};

struct plx_ga_job {
	const struct plx_job *job;
	int index;   /* in the problem */
	int cap;     /* most GPUs it may have */
	int wide;    /* the same, or what it has now if that is more */
	bool must;   /* fixed, or may not be parked */
	bool strict; /* has rules that the published algorithm has not */
	double weight;
	struct plx_yardstick fair;
	struct plx_ga_cell *cells; /* [tall][wide]; by nodes, then GPUs */
	int tall;      /* nodes told apart; the last stands for more */
	double parked; /* its term without any GPU */
};

struct plx_genome {
	uint16_t *genes; /* [job_count][node_count] */
	uint64_t hash;
	double fitness;
	double utility; /* of the GPUs on nodes in use */
	int front;
	double crowding;
};

struct plx_ga_run {
	const struct plx_problem *problem;
	int job_count;
	int node_count;
	size_t genes;  /* of a genome */
	double weight; /* of all jobs */
	struct plx_ga_job *jobs;
	uint16_t *now; /* what jobs have: a genome */

	int size;		    /* of a full population */
	struct plx_genome *genomes; /* [2 * size]: parents, then children */
	int parents;
	int children;
	uint16_t *memory; /* of all genes */

	int *order;   /* [2 * size] scratch */
	int *nodes;   /* [node_count] scratch */
	int *used;    /* [node_count] scratch */
	int *sharers; /* [node_count] scratch */
	int *row;     /* [node_count] scratch */
	/* [node_count * consumable_kinds] scratch: what repaired rows leave. */
	double *consumable_left;
	uint64_t random;
};

/* ga_run.c */
struct plx_ga_run *plx_ga_run_create(const struct plx_problem *problem,
				     int size, uint64_t random,
				     struct plx_error *err);
void plx_ga_run_destroy(struct plx_ga_run *run); /* accepts NULL */
void plx_ga_shuffle(struct plx_ga_run *run, int *items, int count);
/* A genome's genes have changed: find its hash again. */
void plx_genome_seal(const struct plx_ga_run *run, struct plx_genome *genome);
bool plx_genome_same(const struct plx_ga_run *run, const struct plx_genome *a,
		     const struct plx_genome *b);

/* ga_value.c */
struct plx_shape plx_gene_shape(const uint16_t *row, int node_count);
int plx_ga_value_init(struct plx_ga_run *run, struct plx_ga_job *job,
		      struct plx_error *err);
void plx_ga_judge(struct plx_ga_run *run, struct plx_genome *genome);
/* Fitness if every job had the cluster to itself. */
double plx_ga_bound(const struct plx_ga_run *run);

/* ga_repair.c */
void plx_ga_repair(struct plx_ga_run *run, uint16_t *genes);

/* ga_breed.c */
/* Fill the population with children that are unlike all others. */
void plx_ga_breed(struct plx_ga_run *run);

/* ga_sort.c */
/* Fronts and crowding of parents and children; the best become parents. */
void plx_ga_survive(struct plx_ga_run *run);

/* ga_plan.c */
struct plx_plan *plx_ga_plan_make(const struct plx_ga_run *run,
				  const struct plx_genome *genome,
				  struct plx_error *err);

/* ---- chance: drawn ten times for each gene that changes ---- */

static inline uint64_t plx_ga_random(struct plx_ga_run *run)
{
	/* splitmix64, by Steele, Lea and Flood */
	uint64_t x = run->random += 0x9e3779b97f4a7c15u;

	x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
	x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
	return x ^ (x >> 31);
}

/* 0 to below - 1. Requires below >= 1. */
static inline int plx_ga_below(struct plx_ga_run *run, int below)
{
	uint64_t draw = plx_ga_random(run) >> 32;

	return (int) ((draw * (uint64_t) below) >> 32);
}

/* 0 to 1, without 1. */
static inline double plx_ga_chance(struct plx_ga_run *run)
{
	return (double) (plx_ga_random(run) >> 11) * 0x1p-53;
}

#endif
