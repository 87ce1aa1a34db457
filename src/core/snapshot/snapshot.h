/* SPDX-License-Identifier: MIT */
/*
 * snapshot.h - a problem as text, to be decided again elsewhere
 *
 * JSON, described in docs/snapshots.md. Written here, read by the simulator's
 * folder. What is written and read again is the same problem to the last
 * bit, so that the same search gives the same plan.
 */
#ifndef PLX_CORE_SNAPSHOT_H
#define PLX_CORE_SNAPSHOT_H

#include <stddef.h>

#include "core/base/error.h"
#include "core/search/plan.h"
#include "core/problem/problem.h"

#define PLX_SNAPSHOT_FORMAT 1		/* higher ones are not understood */
#define PLX_SNAPSHOT_MAX    (32L << 20) /* bytes of text */

/* Where a field is. */
enum plx_snapshot_part {
	PLX_IN_PROBLEM, /* beside the jobs; where it is absent: as created */
	PLX_IN_JOB,
	PLX_IN_PROFILE, /* in the job too, but for profiled ones only */
	PLX_IN_MODEL,	/* "perf_params", profiled jobs only */
	PLX_IN_NOISE,	/* "grad_params", profiled jobs only */
};

enum plx_snapshot_kind {
	PLX_WHOLE, /* int */
	PLX_REAL,  /* double */
	PLX_FLAG,  /* bool */
};

/* A number of a problem or a job: what it is called and may be. */
struct plx_snapshot_field {
	const char *key;
	enum plx_snapshot_part part;
	enum plx_snapshot_kind kind;
	size_t offset; /* in struct plx_job, or struct plx_problem */
	double low, high;
	double standard; /* where it is absent; NAN: it must be there */
};

/* The last has no key. */
extern const struct plx_snapshot_field plx_snapshot_fields[];

/*
 * The text of a problem that plx_problem_check() accepts; plan is what was
 * decided, or NULL. nodes: [node_count] names, or NULL. The caller's to
 * free(); NULL with err set when there is no memory or it is too long.
 */
char *plx_snapshot_text(const struct plx_problem *problem,
			const char *const *nodes, const struct plx_plan *plan,
			struct plx_error *err);

#endif
