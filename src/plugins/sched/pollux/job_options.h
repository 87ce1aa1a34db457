/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * job_options.h - what a job's user allowed, read once
 *
 * slurmctld's jobs are looked at up to five times a second under its lock, and
 * what their users said at submission never changes. A table of fixed size
 * keeps what was read; any thread may ask.
 */
#ifndef SCHED_POLLUX_JOB_OPTIONS_H
#define SCHED_POLLUX_JOB_OPTIONS_H

#include "common/elastic.h"
#include "common/slurm_compat.h"

struct pollux_job_options {
	bool elastic; /* --scheduler-params was given, ... */
	bool valid;   /* ... and makes sense: */
	struct plx_options options;
	struct elastic_nodes nodes;
};

/* READ lock on jobs. True when elastic and valid; *asked is always written. */
bool pollux_job_options(const job_record_t *job,
			struct pollux_job_options *asked);

/* Was --scheduler-params given, whatever it says? READ lock on jobs. */
bool pollux_is_elastic(const job_record_t *job);

#endif
