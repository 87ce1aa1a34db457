/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * group.h - sums of jobs: by user, account, partition, state, or by period
 *
 * In a period a job counts where it was submitted; GPU-seconds count where
 * they were held, so those of a job that ran past midnight are in two days.
 */
#ifndef PLX_REPORT_GROUP_H
#define PLX_REPORT_GROUP_H

#include "report/history.h"

struct plx_group {
	char key[64]; /* cut; may be a user's text */
	int jobs;
	int elastic;
	int completed;
	int64_t gpu_seconds;
	int resizes;
	double lost_s;	   /* sum of what is known */
	double queued_s;   /* mean; NAN without jobs, as the next ones */
	double finish_s;   /* mean, from submission to the end */
	double goodput;	   /* mean by time of jobs that tell */
	double efficiency; /* mean by GPU-seconds of jobs that tell */
	double fixed;	   /* sum of times with GPUs over that of fixed */
	double rho;	   /* mean of jobs that completed */
	double rho_worst;
};

struct plx_groups {
	struct plx_group *groups; /* by key */
	size_t count;
};

/* Is there such a way? "user", "day"...; the names are in err if not. */
int plx_group_by(const char *name, struct plx_error *err);

/* by: as plx_group_by() takes it. Local time. Release *groups. */
int plx_group_make(const struct plx_history *history, const char *by,
		   struct plx_groups *groups, struct plx_error *err);

void plx_group_release(struct plx_groups *groups);

#endif
