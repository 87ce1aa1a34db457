/* SPDX-License-Identifier: MIT */
/*
 * simulate.h - a workload under a policy, interval by interval
 *
 * In each interval every job first runs on what it has; then the clock
 * moves; then the policy sees who is there, and whose GPUs changed restarts.
 * Runs share nothing that changes: any number of threads may make them.
 */
#ifndef PLX_SIM_SIMULATE_H
#define PLX_SIM_SIMULATE_H

#include "core/base/error.h"
#include "sim/policy.h"
#include "sim/sim_timeline.h"
#include "sim/workload.h"

/* What became of a job. */
struct plx_job_result {
	const struct plx_workload_entry *entry; /* the workload's */
	double start_s;
	double finish_s;
	int restarts;
	double gpu_s;	     /* GPU-seconds held */
	double trained_s;    /* of these without pauses */
	double efficiency_s; /* the same times statistical efficiency */
	double useful_s;     /* GPU-seconds of one GPU for the same progress */
	double alone_s;	     /* what it needs on its share of the cluster */
	double fairness;     /* finish-time fairness: JCT over alone_s */
};

struct plx_run_result {
	const struct plx_policy *policy;
	const struct plx_workload *workload;
	struct plx_job_result *job_results; /* [workload->count] */
	double *decisions_s; /* [decision_count] of real time, rising */
	int decision_count;
	double end_s;			  /* when the last job was done */
	double node_s;			  /* node-seconds until then */
	struct plx_sim_timeline timeline; /* empty unless setting->timeline */
	double wall_s;
};

/*
 * May the policy run the workload on this cluster? -1: a job asks for more
 * than there is.
 */
int plx_simulate_check(const struct plx_setting *setting,
		       const struct plx_policy *policy,
		       const struct plx_workload *workload,
		       struct plx_error *err);

/* The story is the caller's to release; untouched on failure. */
int plx_simulate(const struct plx_setting *setting,
		 const struct plx_policy *policy,
		 const struct plx_workload *workload,
		 struct plx_run_result *run_result, struct plx_error *err);
void plx_run_result_release(struct plx_run_result *run_result);

#endif
