/* SPDX-License-Identifier: MIT */
/* summary.h - a simulated workload in a few numbers */
#ifndef PLX_SIM_SUMMARY_H
#define PLX_SIM_SUMMARY_H

#include "sim/simulate.h"

struct plx_summary {
	const char *name; /* of the workload; borrowed */
	int jobs;
	double avg_jct_s;
	double p50_jct_s;
	double p99_jct_s;
	double makespan_s; /* time at which the last job is done */
	int restarts;
	double gpu_hours;	  /* held, pauses included */
	double avg_efficiency;	  /* statistical, over GPU-time that trained */
	double avg_goodput_ratio; /* to GPUs that each train as one alone at
				     the base batch; over GPU-time held */
	double worst_ftf;	  /* finish-time fairness */
	double unfair_jobs;	  /* share of jobs of more than 1, 0 to 1 */
	int decisions;
	double decision_p50_ms;
	double decision_p99_ms;
	double wall_s;
	double node_hours; /* paid for, until the last job is done */
	double mean_nodes;
};

/* -1: no memory. */
int plx_summarize(const struct plx_run_result *run_result,
		  struct plx_summary *summary, struct plx_error *err);

/* Between sorted values as numpy has it; 0 of none. part: 0 to 1. */
double plx_quantile(const double *sorted, int count, double part);

#endif
