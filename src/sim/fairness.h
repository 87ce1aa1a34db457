/* SPDX-License-Identifier: MIT */
/*
 * fairness.h - was a job better off than with its share of the cluster?
 *
 * Finish-time fairness, core/model/finish_time.h, of simulated jobs. Where the
 * cluster changes its size, the mean size counts.
 */
#ifndef PLX_SIM_FAIRNESS_H
#define PLX_SIM_FAIRNESS_H

#include "sim/simulate.h"

/*
 * Into run_result->job_results[job->index]; all job_results' times, end_s and
 * node_s must be known. The job knows alone what it has learnt by its end.
 */
int plx_judge_fairness(const struct plx_setting *setting,
		       const struct plx_simjob *job,
		       struct plx_run_result *run_result,
		       struct plx_error *err);

#endif
