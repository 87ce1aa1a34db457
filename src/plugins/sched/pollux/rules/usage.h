/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * usage.h - where Slurm counts what a job uses
 *
 * A running job is counted in its association and in all above it, in its QOS
 * and in its partition's QOS, and there under its user and its account. All
 * that borrows from Slurm: valid for as long as the locks are held.
 */
#ifndef SCHED_POLLUX_USAGE_H
#define SCHED_POLLUX_USAGE_H

#include "common/slurm_compat.h"

/* Arrays have slurmctld_tres_cnt entries; NULL where nothing is kept. */
struct pollux_usage_counter {
	uint64_t *used;	     /* by running jobs */
	bitstr_t **nodes;    /* of running jobs; may point to NULL */
	uint16_t *node_jobs; /* [node_record_count] jobs on each */
	uint64_t *run_s;     /* TRES-seconds that running jobs may still use */
	long double *spent;  /* TRES-seconds used so far, decayed */
	long double *billed; /* the same, weighted */
	double *wall_s;
};

/* The first one is the job's association's. */
struct pollux_usage_counters {
	int count;
	struct pollux_usage_counter *at;
};

/*
 * All counters of a job that has an association. Locks: jobs, and assoc_mgr's
 * WRITE locks on associations and QOS. Release frees the list only.
 */
void pollux_usage_open(job_record_t *job,
		       struct pollux_usage_counters *counters);
void pollux_usage_release(struct pollux_usage_counters *counters);

/* TRES i of a job's counts; 0 for what is no count. Accepts NULL. */
uint64_t pollux_usage_count(const uint64_t *counts, int i);

/*
 * As if the job had ended: what the counters have without it, of running jobs
 * and of the time these may still take. The copy is the caller's to give to
 * pollux_usage_recount(), which puts everything back.
 */
struct pollux_usage_copy;
struct pollux_usage_copy *pollux_usage_uncount(
	job_record_t *job, struct pollux_usage_counters *counters);
void pollux_usage_recount(struct pollux_usage_counters *counters,
			  struct pollux_usage_copy *copy);

/*
 * Seconds of its time limit for which the job is counted in run_s: those after
 * the decay thread's last run; where that is unknown, those after now.
 */
uint64_t pollux_usage_unused_s(const job_record_t *job, time_t now);

#endif
