/* SPDX-License-Identifier: MIT */
/*
 * finish_time.h - finish-time fairness, as everybody here counts it
 *
 * Mahajan et al., "Themis", NSDI '20: the time that a job takes from its
 * submission to its end, over the time that it would take alone on 1/N of the
 * cluster. N is the mean number of jobs while it is there, itself included.
 * Above 1: it loses by sharing. Its part of the cluster is whole GPUs, rounded
 * down, no more than it can use, on as few nodes as hold them. Where that is
 * less than one GPU, it is one for as large a part of the time.
 *
 * The simulator (sim/fairness.h), the report (report/job_efficiency.h) and the
 * plugin's metrics know times and numbers of jobs each from elsewhere.
 */
#ifndef PLX_CORE_FINISH_TIME_H
#define PLX_CORE_FINISH_TIME_H

#include "core/model/goodput.h"

/* A job's part of the cluster. */
struct plx_due {
	int gpus;    /* 1 or more ... */
	double part; /* ... for so much of the time, 0 to 1 */
};

/* limits: of its batch; NULL: it can use any number. Requires jobs > 0. */
struct plx_due plx_due_of(double cluster_gpus, double jobs,
			  const struct plx_limits *limits);

/* alone_s: what it takes on due->gpus when it has them all the time. */
double plx_finish_fairness(double shared_s, double alone_s,
			   const struct plx_due *due);

/* A job that runs. */
struct plx_halfway {
	double since_s;	     /* its submission */
	double progress;     /* 0 to 1 */
	double samples_left; /* still to come */
	double goodput;	     /* now */
	double goodput_due;  /* on due->gpus */
};

/* What it will be if all goes on as now; 0: there is no telling. */
double plx_finish_expected(const struct plx_halfway *job,
			   const struct plx_due *due);

#endif
