/* SPDX-License-Identifier: MIT */
/* finish_time.c - finish-time fairness, as everybody here counts it */

#include <math.h>

#include "core/model/finish_time.h"

#define GPUS_MAX 65536

struct plx_due plx_due_of(double cluster_gpus, double jobs,
			  const struct plx_limits *limits)
{
	double share = cluster_gpus / jobs;
	struct plx_due due = {
		.gpus = (int) fmin(fmax(floor(share), 1), GPUS_MAX),
		.part = fmin(share, 1),
	};

	if (limits && limits->min_per_gpu > 0) {
		int most = limits->max_batch / limits->min_per_gpu;

		if (most >= 1 && due.gpus > most)
			due.gpus = most;
	}
	return due;
}

double plx_finish_fairness(double shared_s, double alone_s,
			   const struct plx_due *due)
{
	return shared_s * due->part / alone_s;
}

double plx_finish_expected(const struct plx_halfway *job,
			   const struct plx_due *due)
{
	double shared_s;
	double alone_s;
	double ratio;

	if (!(job->progress > 0) || !(job->progress < 1) ||
	    !(job->samples_left > 0) || !(job->goodput > 0) ||
	    !(job->goodput_due > 0))
		return 0;
	shared_s = job->since_s + job->samples_left / job->goodput;
	alone_s = job->samples_left / (1 - job->progress) / job->goodput_due;
	ratio = plx_finish_fairness(shared_s, alone_s, due);
	return isfinite(ratio) && ratio > 0 ? ratio : 0;
}
