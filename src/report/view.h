/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * view.h - what pollux-top shows: one look at the cluster
 *
 * Plain data. Texts of users are as Slurm gave them: clean before printing.
 */
#ifndef PLX_REPORT_VIEW_H
#define PLX_REPORT_VIEW_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "core/error.h"
#include "core/status.h"
#include "core/target.h"

#define PLX_SPOTS_SIZE 256

struct plx_view_job {
	char id[48];	   /* "5", "3_1", "3_[2-9]", "7+1" */
	char name[64];	   /* cut */
	const char *state; /* "RUNNING" */
	bool running;
	char spots[PLX_SPOTS_SIZE]; /* "n1:2 n3:2"; "" without GPUs */
	int gpus;
	int64_t ran_s; /* since it started */
	bool elastic;  /* was ever seen by the plugin or launcher */
	bool told;     /* status is known */
	struct plx_status status;
	struct plx_target target;
	char reason[64]; /* why it does not run */
};

struct plx_view {
	int64_t now_s;
	int nodes;
	int gpus;      /* of all nodes */
	int gpus_busy; /* given to jobs, as the nodes say */
	struct plx_view_job *jobs;
	size_t count;
};

/* GPUs in a text of Slurm: "gpu:2(IDX:0-1)", "gpu:t4:4", "craynet:1": 2, 4, 0.
 */
int plx_gres_gpus(const char *gres);

/* Append "node:gpus"; what does not fit becomes "...". */
void plx_spots_add(char spots[PLX_SPOTS_SIZE], const char *node, int gpus);

/* Read what the job's launcher and sched/pollux wrote about it. */
void plx_view_read(struct plx_view_job *job, const char *comment,
		   const char *system_comment);

/* Total batch in use, samples; 0 when not known. */
int64_t plx_view_batch(const struct plx_view_job *job);

void plx_view_print(const struct plx_view *view, FILE *out);
json_t *plx_view_json(const struct plx_view *view);

void plx_view_release(struct plx_view *view);

/*
 * Look at the cluster. Release *view. -1 with err set when slurmctld does
 * not answer; bounded by Slurm's MessageTimeout.
 */
int plx_view_load(struct plx_view *view, struct plx_error *err);

#endif
