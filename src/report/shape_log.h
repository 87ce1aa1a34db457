/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * shape_log.h - what sched/pollux logged of each shape, against sacct's word
 *
 * slurmctld's log has one `held` line for every shape a job has left
 * (docs/resize.md, section 6). sacct and the log are written by different
 * code, so their agreement means that both are right.
 */
#ifndef PLX_REPORT_SHAPE_LOG_H
#define PLX_REPORT_SHAPE_LOG_H

#include <stdbool.h>
#include <stdio.h>

#include "core/base/error.h"
#include "report/history.h"

struct plx_shape_log_entry {
	char *id; /* the job's own number, of a task of an array as well */
	char *nodes;
	int gpus;
	int64_t start_s;
	int64_t end_s;
	int64_t gpu_seconds; /* as logged */
	char *why;	     /* the last request before it was left; or NULL */
	bool requeued; /* Slurm forgets the end: it may be a second late */
	bool known;    /* sacct has the job: plx_shape_log_check() */
};

struct plx_shape_log {
	struct plx_shape_log_entry *entries; /* by job and time */
	size_t count;
};

/* Read a log; lines about other things are skipped. Release *shapes. */
int plx_shape_log_read(FILE *log, struct plx_shape_log *shapes,
		       struct plx_error *err);

void plx_shape_log_release(struct plx_shape_log *shapes);

/* Tell each shape why it was left, from the log that must live as long. */
void plx_shape_log_explain(const struct plx_shape_log *shapes,
			   struct plx_history *history);

/*
 * Compare. Rigid jobs have no entries and are left out; so are shapes that
 * have not ended, and, when only_these is set, jobs that sacct was not asked
 * for. Each difference is one sentence given to tell(); returns the number
 * of shapes that agree, and of differences in *differences.
 */
int plx_shape_log_check(struct plx_shape_log *shapes,
			const struct plx_history *history, bool only_these,
			void (*tell)(const char *sentence, void *arg),
			void *arg, int *differences);

#endif
