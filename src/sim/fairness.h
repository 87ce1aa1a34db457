/* SPDX-License-Identifier: MIT */
/*
 * fairness.h - was a job better off than with its share of the cluster?
 *
 * Finish-time fairness as in Mahajan et al., "Themis", NSDI '20: the time
 * that a job took over the time it takes alone on 1/N of the cluster, N
 * being the mean number of jobs while it was there, itself included. More
 * than 1: it lost by sharing. Where the cluster changes its size, the mean
 * size counts. The share is whole GPUs, rounded down, no more than the job
 * can use; of less than one GPU, all of it for as large a part of the time.
 */
#ifndef PLX_SIM_FAIRNESS_H
#define PLX_SIM_FAIRNESS_H

#include "sim/simulate.h"

/*
 * Into story->fates[job->index]; all fates' times, end_s and node_s must be
 * known. The job knows alone what it has learnt by its end.
 */
int plx_judge_fairness(const struct plx_setting *setting,
		       const struct plx_simjob *job, struct plx_story *story,
		       struct plx_error *err);

#endif
