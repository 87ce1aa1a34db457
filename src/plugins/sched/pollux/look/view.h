/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * view.h - what is in slurmctld, copied under a read lock
 *
 * A view owns all its memory and is only looked at. Its node indices are
 * slurmctld's; they mean the same later only if pollux_view_same_nodes().
 */
#ifndef SCHED_POLLUX_VIEW_H
#define SCHED_POLLUX_VIEW_H

#include <stdbool.h>
#include <stdint.h>
#include <time.h>

#include "core/options.h"
#include "core/status.h"
#include "core/target.h"

#define POLLUX_PENDING_MAX 100 /* waiting jobs looked at */

struct pollux_node {
	char *name;
	bool usable; /* up, neither drained nor reserved */
	int gpus;
	int gpus_free;
	int cpus;
	int cpus_used;
};

/* A running elastic job. */
struct pollux_job {
	uint32_t id;
	uint32_t uid;
	struct plx_options options;
	struct plx_status status;	/* launcher none when there is none */
	char complaint[PLX_ERROR_SIZE]; /* about status or hint; or "" */
	struct plx_target target;
	bool runs; /* may be resized as far as Slurm is concerned */
	int home;
	uint32_t priority;
	time_t age_s;  /* since its start */
	char *shape;   /* nodes as accounting has them */
	time_t since;  /* its present shape */
	int *gpus;     /* [node_count] */
	int *cpus;     /* [node_count] */
	bool *allowed; /* [node_count] */
};

/* A job, elastic or not, that Slurm could not start for want of resources. */
struct pollux_waiting {
	uint32_t id;
	uint32_t priority;
	int nodes;
	int gpus_per_node; /* or those that stand in its CPUs' way */
	bool whole_nodes;
	bool ignored;  /* see patience.h */
	bool *allowed; /* [node_count] */
};

struct pollux_view {
	time_t now;
	int node_count;
	struct pollux_node *nodes;
	int job_count;
	struct pollux_job *jobs; /* in the order of slurmctld's list */
	int waiting_count;
	struct pollux_waiting *waiting; /* highest priority first */
	int requeued;			/* jobs to be reset, see requeue.h */
	uint64_t print; /* changes when there is something to decide */
};

/* Locks slurmctld for reading. The caller's to destroy. */
struct pollux_view *pollux_view_create(void);
void pollux_view_destroy(struct pollux_view *view); /* accepts NULL */

/* GPUs that elastic job j holds. */
int pollux_view_gpus(const struct pollux_view *view, int j);

/* Is node n still what it was? Under any lock on nodes. */
bool pollux_view_same_nodes(const struct pollux_view *view);

#endif
