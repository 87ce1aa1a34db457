/* SPDX-License-Identifier: MIT */
/* print.h - simulated workloads for people and for programs */
#ifndef PLX_SIM_PRINT_H
#define PLX_SIM_PRINT_H

#include <stdio.h>

#include "sim/summary.h"

/* Summaries [policy_count][workload_count], in one block. */
struct plx_results {
	const struct plx_policy *const *policies;
	int policy_count;
	int workload_count;
	const struct plx_summary *summaries;
	bool scales; /* the cluster changes its size */
};

/* A table: workloads, and under each the policies. */
void plx_print_table(const struct plx_results *results, FILE *out);

/* An object a policy, each on a line of its own. */
int plx_print_json(const struct plx_results *results, FILE *out,
		   struct plx_error *err);

/* Rows of --jobs. */
void plx_print_jobs_header(FILE *out);
void plx_print_jobs(const struct plx_story *story, FILE *out);

#endif
