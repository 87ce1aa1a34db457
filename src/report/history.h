/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * history.h - every job's shapes over time, made from rows of sacct
 *
 * sacct shows one row a shape: RESIZING for those that were left, with the
 * start of the *job*, and the start of the shape as time of submission.
 * Pure: time is an argument.
 */
#ifndef PLX_REPORT_HISTORY_H
#define PLX_REPORT_HISTORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/error.h"
#include "report/rows.h"

/* Some time with the same nodes and GPUs, at least a second. */
struct plx_history_span {
	int64_t start_s; /* Unix time */
	int64_t end_s;
	int gpus;	     /* 0: parked, or a job without GPUs */
	const char *nodes;   /* borrowed from the rows */
	bool open;	     /* still so: end_s is now */
	const char *comment; /* when it was left: the launcher's hint */
	const char *story;   /* when it was left: what the job was told */
	const char *why;     /* it was left, by slurmctld's log; or NULL */
};

/* What a job got from its GPUs: job_efficiency.h. NAN where it is not known. */
struct plx_efficiency {
	double goodput;	    /* mean, useful samples/s */
	double efficiency;  /* mean, 0 to 1 */
	double lost_s;	    /* training stood still for resizes */
	int fixed_gpus;	    /* had it had these all the time ... */
	double fixed_s;	    /* ... it would have trained so long, */
	double fixed_low_s; /* or between these two */
	double fixed_high_s;
	bool beyond; /* many more GPUs than it ever measured */
	double rho;  /* finish-time fairness */
};

struct plx_record {
	const char *id;	    /* borrowed from the rows, as are the next texts */
	const char *number; /* as slurmctld's log has it; id if not known */
	const char *name;
	const char *state;
	const char *user;
	const char *account;
	const char *partition;
	bool elastic;	   /* has a launcher's section in its comment */
	int pauses;	   /* the launcher measured; 0: pause_s unknown */
	double pause_s[2]; /* median and worst, as the launcher measured */
	int64_t submit_s;
	int64_t end_s;	  /* now when it has not ended */
	int64_t queued_s; /* from submission to the first start */
	int64_t ran_s;	  /* sum of the spans */
	int64_t gpu_seconds;
	int64_t twice_gpu_seconds;	/* of these, held twice by handovers */
	int resizes;			/* shapes left for another */
	struct plx_history_span *spans; /* by time */
	size_t span_count;
	struct plx_efficiency yield;
};

struct plx_totals {
	int jobs;
	int elastic;
	int completed;
	int64_t wall_s; /* first submission to last end */
	int64_t gpu_seconds;
	int64_t twice_gpu_seconds;
	int resizes;
	int pauses;
	double pause_s[2]; /* median of the jobs' medians by resizes; worst */
};

struct plx_history {
	struct plx_record *records; /* by job id */
	size_t count;
	struct plx_totals totals;
};

/*
 * Make the history. rows must live as long as it does; *history is the
 * caller's to release.
 */
int plx_history_make(const struct plx_rows *rows, int64_t now_s,
		     struct plx_history *history, struct plx_error *err);

/* How many nodes a list names: 5 for "n[1-3,7],x". */
int plx_nodes_count(const char *nodes);

/* The record of this job, or NULL. */
const struct plx_record *plx_history_find(const struct plx_history *history,
					  const char *id);

void plx_history_release(struct plx_history *history);

/* Job ids by number: "3_2" before "3_10" before "12". As strcmp(). */
int plx_id_compare(const char *a, const char *b);

#endif
