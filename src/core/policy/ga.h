/* SPDX-License-Identifier: MIT */
/*
 * ga.h - the published genetic algorithm: problem in, plan out
 *
 * As a measure for plx_plan_search(), not to schedule with. NSGA-II over
 * matrices of GPU counts, one row a job and one column a node, as described
 * in Qiao et al., "Pollux", OSDI '21, section 4.2, and written in its
 * artifact. It maximises FITNESS_p of the value that core/problem/objective.h
 * or the jobs' tables say; for the published objective see plx_osdi21_tables().
 *
 * Its plans keep to all rules of the problem, also to those that the published
 * one has not: docs/decisions/0111-bred-plans-are-legal.md.
 *
 * Deterministic: the same problems in the same order with the same seed give
 * the same plans. Where the problem lists a job matters, as published: who
 * comes first has precedence when rows are made to fit.
 */
#ifndef PLX_CORE_GA_H
#define PLX_CORE_GA_H

#include <stdint.h>

#include "core/base/error.h"
#include "core/search/plan.h"
#include "core/problem/problem.h"

struct plx_ga_options {
	int population;	 /* 2 to 10000 */
	int generations; /* 1 to 1000000, the start counts as one */
	uint64_t seed;
};

/* 100 of 100. */
struct plx_ga_options plx_ga_published(uint64_t seed);

/* What it remembers from plan to plan: the best of its last population. */
struct plx_ga;

/* The caller's to destroy; NULL with err set. */
struct plx_ga *plx_ga_create(const struct plx_ga_options *options,
			     struct plx_error *err);
void plx_ga_destroy(struct plx_ga *ga); /* accepts NULL */

/*
 * One cycle. *plan is the caller's to destroy; its bound is a poor one, as
 * if jobs shared nothing. A plan may be worse than doing nothing, and a job
 * that may not be parked keeps what it has if nothing else is found for it.
 * On failure *plan is untouched and the memory of earlier cycles is as it
 * was.
 */
int plx_ga_plan(struct plx_ga *ga, const struct plx_problem *problem,
		struct plx_plan **plan, struct plx_error *err);

/* A single cycle from what jobs have now, with the problem's seed. */
int plx_ga_search(const struct plx_problem *problem, struct plx_plan **plan,
		  struct plx_error *err);

#endif
