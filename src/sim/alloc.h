/* SPDX-License-Identifier: MIT */
/*
 * alloc.h - a snapshot decided once more: pollux-alloc without its command
 * line
 */
#ifndef PLX_SIM_ALLOC_H
#define PLX_SIM_ALLOC_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "core/search/plan.h"
#include "sim/policy.h"
#include "sim/snapshot_load.h"

struct plx_alloc_options {
	const char *path;      /* of the snapshot */
	const char *case_name; /* of several in it; NULL: the only one */
	const struct plx_policy *policy;
	bool osdi21;	     /* the published objective, quirks included */
	bool uniform;	     /* in any case */
	bool given_fairness; /* not the file's */
	bool given_seed;
	double fairness;
	uint64_t seed;
	double budget_ms; /* 0: until the search ends by itself */
	bool json;
};

struct plx_answer {
	struct plx_snapshot *snapshot; /* as changed by the options */
	struct plx_plan *plan;
	double elapsed_ms; /* of the search alone */
};

/* Read the file as the options say. */
int plx_alloc_load(const struct plx_alloc_options *options,
		   struct plx_answer *answer, struct plx_error *err);
/* Fill the rest. */
int plx_alloc_decide(const struct plx_alloc_options *options,
		     struct plx_answer *answer, struct plx_error *err);
/*
 * As policy->plan() does, but no node is asked for more than it has, of
 * anything. The snapshot is the same afterwards.
 */
int plx_alloc_plan(struct plx_snapshot *snapshot,
		   const struct plx_policy *policy, struct plx_plan **plan,
		   struct plx_error *err);
void plx_answer_release(struct plx_answer *answer);

/* A line for each job, and totals. */
void plx_answer_print(const struct plx_answer *answer,
		      const struct plx_alloc_options *options, FILE *out);
int plx_answer_print_json(const struct plx_answer *answer, FILE *out,
			  struct plx_error *err);

#endif
