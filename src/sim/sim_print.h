/* SPDX-License-Identifier: MIT */
/* sim_print.h - simulated workloads for people and for programs */
#ifndef PLX_SIM_SIM_PRINT_H
#define PLX_SIM_SIM_PRINT_H

#include <stdio.h>

#include "sim/batch.h"
#include "sim/summary.h"

/* Blocks are [policy_count][workload_count]. */
struct plx_results {
	const struct plx_policy *const *policies;
	int policy_count;
	int workload_count;
	const struct plx_summary *summaries;
	const struct plx_task *tasks;	   /* done */
	const struct plx_catalog *catalog; /* of all workloads */
	int gpus;			   /* of the cluster at its largest */
	bool scales;			   /* the cluster changes its size */
};

const struct plx_summary *plx_results_summary(const struct plx_results *results,
					      int policy, int workload);
const struct plx_run_result *plx_results_of(const struct plx_results *results,
					    int policy, int workload);
/* Of the workloads' mean completion times, s. */
double plx_results_mean_s(const struct plx_results *results, int policy);

/* A table: workloads, and under each the policies. */
void plx_print_table(const struct plx_results *results, FILE *out);

/* An object a policy, each on a line of its own. */
int plx_print_json(const struct plx_results *results, FILE *out,
		   struct plx_error *err);

/* Rows of --jobs. */
void plx_print_jobs_header(FILE *out);
void plx_print_jobs(const struct plx_run_result *run_result, FILE *out);

#endif
