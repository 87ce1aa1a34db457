/* SPDX-License-Identifier: MIT */
/*
 * workload.h - who submits what when
 *
 * A table with the columns name, time (of submission, s), application,
 * num_replicas and batch_size (a user's fixed choice, which policies that
 * adapt the job ignore).
 */
#ifndef PLX_SIM_WORKLOAD_H
#define PLX_SIM_WORKLOAD_H

#include "core/base/error.h"
#include "sim/app.h"

/* The applications read so far, shared by all workloads. */
struct plx_catalog {
	const char *dir; /* of traces; borrowed */
	struct plx_app **apps;
	int count;
};

struct plx_workload_entry {
	char *name;
	double submit_s;
	const struct plx_app *app; /* the catalog's */
	int gpus;		   /* the user's choice */
	int batch;		   /* total; the user's choice */
	int line;		   /* of the file */
};

struct plx_workload {
	char *path;
	char *name; /* of the file, without folder and ".csv" */
	struct plx_workload_entry *entries; /* by submission, then line */
	int count;
};

/*
 * Read a workload, and what the catalog lacks of its applications. The
 * workload is the caller's to release; untouched on failure.
 */
int plx_workload_load(const char *path, struct plx_catalog *catalog,
		      struct plx_workload *workload, struct plx_error *err);
void plx_workload_release(struct plx_workload *workload);

void plx_catalog_release(struct plx_catalog *catalog);

#endif
