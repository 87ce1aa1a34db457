/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * cluster_view.h - what pollux-top shows: one look at the cluster
 *
 * Plain data. Texts of users are as Slurm gave them: clean before printing.
 */
#ifndef PLX_REPORT_CLUSTER_VIEW_H
#define PLX_REPORT_CLUSTER_VIEW_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "core/base/error.h"
#include "core/records/status.h"
#include "core/records/target.h"

#define PLX_PLACEMENT_SIZE 256
#define PLX_NODE_GPUS	   64 /* whose holders are told apart, on a node */

struct plx_view_job {
	uint32_t number; /* Slurm's own, of a task of an array as well */
	char id[48];	 /* "5", "3_1", "3_[2-9]", "7+1" */
	char name[64];	 /* cut */
	char user[32];	 /* cut, as the next two */
	char account[32];
	char partition[32];
	const char *state; /* "RUNNING" */
	bool running;
	bool waiting;
	char placement[PLX_PLACEMENT_SIZE]; /* "n1:2 n3:2"; "" without GPUs */
	int gpus;
	int nodes;	   /* with GPUs of it */
	int64_t submit_s;  /* Unix time */
	int64_t start_s;   /* 0: not yet */
	int64_t changed_s; /* its last change of shape; 0: none */
	int64_t limit_s;   /* of its time; 0: none */
	int64_t ran_s;	   /* since it started */
	int was_gpus;	   /* before the last change; -1: not known */
	bool elastic;	   /* was ever seen by the plugin or launcher */
	bool told;	   /* status is known */
	struct plx_status status;
	struct plx_target target;
	char reason[64]; /* why it does not run */
};

/* Who has a GPU, beside the index of a job. */
enum { PLX_HOLDER_NONE = -1, PLX_HOLDER_UNKNOWN = -2 };

struct plx_view_node {
	char name[64];
	const char *state; /* "up", "sick", "drained", "down", "off" */
	int gpus;
	int busy; /* as the node says */
	int32_t holders[PLX_NODE_GPUS];
};

struct plx_view {
	int64_t now_s;
	struct plx_view_node *nodes; /* by name: n2 before n10 */
	size_t node_count;
	int gpus;		   /* of all nodes */
	int gpus_busy;		   /* given to jobs, as the nodes say */
	struct plx_view_job *jobs; /* by number */
	size_t count;
};

/* GPUs in a text of Slurm: "gpu:2(IDX:0-1)", "gpu:t4:4", "craynet:1": 2, 4, 0.
 */
int plx_gres_gpus(const char *gres);

/* Which ones, bit by bit, of the first 64: of "gpu:2(IDX:0,3)" 9. */
uint64_t plx_gres_which(const char *gres);

/* Append "node:gpus"; what does not fit becomes "...". */
void plx_placement_add(char placement[PLX_PLACEMENT_SIZE], const char *node,
		       int gpus);

/* Sort the nodes, and see who holds their GPUs: nobody yet. */
void plx_view_sort_nodes(struct plx_view *view);

/* jobs[job] has these GPUs (a text of Slurm) on that node. */
void plx_view_hold(struct plx_view *view, size_t job, const char *node,
		   const char *gres);

/* The node says that these are held; some of them, no job has claimed. */
void plx_view_unknown(struct plx_view *view, const char *node,
		      const char *gres);

/* Read what the job's launcher and sched/pollux wrote about it. */
void plx_view_read(struct plx_view_job *job, const char *comment,
		   const char *system_comment);

/* It runs, and its goodput on what it has is known. */
bool plx_view_measured(const struct plx_view_job *job);

/* Total batch in use, samples; 0 when not known. */
int64_t plx_view_batch(const struct plx_view_job *job);

/* Statistical efficiency in use, 0 to 1; NAN when not known. */
double plx_view_efficiency(const struct plx_view_job *job);

/* Until its training is done, at its present goodput; -1 when not known. */
int64_t plx_view_left_s(const struct plx_view_job *job);

/* Goodput that its model promises on a shape; 0: no batch is allowed there. */
double plx_view_promised(const struct plx_view_job *job, int gpus, int nodes);

/*
 * What all GPUs do by what they would if each did as much as one alone, as
 * sched/pollux counts it: jobs without a model count as their GPUs, GPUs of
 * nodes that get no jobs only while they are held. NAN: no GPUs.
 */
double plx_view_utility(const struct plx_view *view);

/* "RUNNING", or what an elastic job is at when it does not train. */
const char *plx_view_state(const struct plx_view_job *job);

/* Why it has what it has, or waits, or how it ended; clean. Returns text. */
char *plx_view_why(const struct plx_view_job *job, char *text, size_t size);

/* Its jobs are those of order, indexes of view->jobs. NULL: no memory. */
json_t *plx_view_json(const struct plx_view *view, const size_t *order,
		      size_t count);

void plx_view_release(struct plx_view *view);

/*
 * Look at the cluster. Release *view. -1 with err set when slurmctld does
 * not answer; bounded by Slurm's MessageTimeout.
 */
int plx_view_load(struct plx_view *view, struct plx_error *err);

#endif
