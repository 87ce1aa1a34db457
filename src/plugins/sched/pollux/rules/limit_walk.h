/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * limit_walk.h - every limit of an association or a QOS that applies to a job
 *
 * Slurm itself judges each growth (limits.h). This list is for what Slurm
 * does not tell: which number it was, and how far a job may grow at all.
 */
#ifndef SCHED_POLLUX_LIMIT_WALK_H
#define SCHED_POLLUX_LIMIT_WALK_H

#include "common/slurm_compat.h"

enum pollux_scope {
	POLLUX_OF_JOB,
	POLLUX_OF_NODE, /* of a job, on the average of its nodes */
	POLLUX_OF_USER,
	POLLUX_OF_ACCOUNT,
	POLLUX_OF_ALL, /* in this QOS, or in this association and below */
};

enum pollux_unit {
	POLLUX_NOW,	/* held at a time */
	POLLUX_MINUTES, /* times the time limit */
	POLLUX_SPENT,	/* minutes used up */
};

struct pollux_tres_limit {
	enum pollux_scope scope;
	enum pollux_unit unit;
	int tres;
	uint64_t most;		  /* of the TRES, or minutes of it */
	const uint64_t *used;	  /* of the TRES by the scope; may be NULL */
	const uint64_t *run_s;	  /* seconds its jobs may still use it */
	const long double *spent; /* seconds it was used */
	bitstr_t *nodes;	  /* of the scope; may be NULL */
	const slurmdb_qos_rec_t *qos; /* whose limit it is: this QOS, or ... */
	const slurmdb_assoc_rec_t *assoc; /* ... this association */
};

/*
 * Call see() for each finite limit in the order in which Slurm asks for them,
 * until it returns false. Locks: jobs, assoc_mgr READ on associations, QOS
 * and TRES. All that the limit points to is borrowed.
 */
void pollux_limit_walk(const job_record_t *job,
		       bool (*see)(const struct pollux_tres_limit *limit,
				   void *context),
		       void *context);

/* Minutes that count for limits of minutes, as Slurm reckons a new job's. */
uint64_t pollux_limit_minutes(const job_record_t *job);

#endif
