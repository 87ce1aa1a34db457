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

#include "core/error.h"
#include "report/rows.h"

/* Some time with the same nodes and GPUs, at least a second. */
struct plx_span {
	int64_t start_s; /* Unix time */
	int64_t end_s;
	int gpus;	   /* 0: parked, or a job without GPUs */
	const char *nodes; /* borrowed from the rows */
	bool open;	   /* still so: end_s is now */
};

struct plx_record {
	const char *id; /* borrowed from the rows, as are the next two */
	const char *name;
	const char *state;
	bool elastic;	   /* has a launcher's section in its comment */
	int pauses;	   /* the launcher measured; 0: pause_s unknown */
	double pause_s[2]; /* median and worst, as the launcher measured */
	int64_t submit_s;
	int64_t end_s;	  /* now when it has not ended */
	int64_t queued_s; /* from submission to the first start */
	int64_t ran_s;	  /* sum of the spans */
	int64_t gpu_seconds;
	int resizes;		/* shapes left for another */
	struct plx_span *spans; /* by time */
	size_t span_count;
};

struct plx_totals {
	int jobs;
	int elastic;
	int completed;
	int64_t wall_s; /* first submission to last end */
	int64_t gpu_seconds;
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

/* The record of this job, or NULL. */
const struct plx_record *plx_history_find(const struct plx_history *history,
					  const char *id);

void plx_history_release(struct plx_history *history);

/* Job ids by number: "3_2" before "3_10" before "12". As strcmp(). */
int plx_id_compare(const char *a, const char *b);

#endif
