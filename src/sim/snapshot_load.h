/* SPDX-License-Identifier: MIT */
/*
 * snapshot_load.h - a recorded problem, read from a file
 *
 * The format is described in docs/snapshots.md; the text may come from
 * anybody, and is believed in nothing.
 */
#ifndef PLX_SIM_SNAPSHOT_LOAD_H
#define PLX_SIM_SNAPSHOT_LOAD_H

#include <stddef.h>

#include "core/base/error.h"
#include "core/problem/problem.h"

/* A resource that is not GPUs. */
struct plx_kind {
	double *has;   /* [node_count] */
	double *needs; /* [job_count] a replica */
};

struct plx_snapshot {
	struct plx_problem *problem; /* accepted by plx_problem_check() */
	char **nodes;		     /* [node_count] names */
	char **jobs;		     /* [job_count] names */
	/*
	 * [job_count] Part of the cluster that one replica takes, of the
	 * resource of which that is most; > 0.
	 */
	double *shares;
	double recorded; /* fitness of the file's own answer; NAN: none */
	int kind_count;
	struct plx_kind *kinds; /* [kind_count] */
};

/*
 * Read a file that is a problem, or whose "cases" has one of this name
 * (NULL: the only one). *out is the caller's to destroy; on failure it is
 * untouched, and err names file, line and place.
 */
int plx_snapshot_load(const char *path, const char *name,
		      struct plx_snapshot **out, struct plx_error *err);

/* The same for a text, a NUL after its end; path is for sentences only. */
int plx_snapshot_parse(const char *text, size_t length, const char *path,
		       const char *name, struct plx_snapshot **out,
		       struct plx_error *err);

void plx_snapshot_destroy(struct plx_snapshot *snapshot); /* accepts NULL */

#endif
