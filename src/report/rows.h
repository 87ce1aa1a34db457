/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * rows.h - what sacct prints, as rows
 *
 * The first line names the columns and shows the delimiter: whatever stands
 * between the first two names. A name or a comment belongs to its user and
 * may hold newlines: a record ends when it has as many delimiters as the
 * first line. `sacct -p` with a rare --delimiter can so be read without any
 * doubt; in `sacct -P` output the last column takes what is left of a line.
 */
#ifndef PLX_REPORT_ROWS_H
#define PLX_REPORT_ROWS_H

#include <stddef.h>
#include <stdint.h>

#include "core/base/error.h"

#define PLX_TIME_NONE ((int64_t) -1)

/* One row of `sacct -D -X`: a job, or one shape of a resized job. */
struct plx_sacct_row {
	char *id;     /* "5", "3_1", "7+0" */
	char *number; /* the job's own: "4" of task "3_1"; "" as below */
	char *name;   /* "" when the column is not there; as below */
	char *state;  /* first word only: "CANCELLED" */
	char *nodes;  /* "n[1-2]" */
	char *user;
	char *account;
	char *partition;
	char *story;	/* system_comment: what the scheduler told the job */
	char *comment;	/* with the launcher's section */
	int gpus;	/* of AllocTRES */
	int64_t submit; /* Unix time, or PLX_TIME_NONE */
	int64_t start;	/* of the job, not of the shape */
	int64_t end;	/* PLX_TIME_NONE: still running, or never ran */
};

struct plx_rows {
	struct plx_sacct_row *rows; /* in the order of the text */
	size_t count;
};

/* Columns to ask sacct for. */
#define PLX_SACCT_FORMAT                                                       \
	"jobid,jobidraw,jobname,state,submit,start,end,alloctres,nodelist,"    \
	"user,account,partition,systemcomment,comment"

/*
 * Read text of size bytes. On success *rows is the caller's to release; on
 * failure it is untouched and err names the line. Steps are left out.
 */
int plx_rows_parse(const char *text, size_t size, struct plx_rows *rows,
		   struct plx_error *err);

/*
 * Can a text of unknown making be believed? Where the delimiter is short, or
 * simply '|', a job's name with newlines can pose as rows of other jobs, and
 * nothing in the text shows it. So the delimiter must be one that nobody could
 * guess, or no column may be one that users write. -1 with err set: neither.
 */
int plx_rows_believable(const char *text, size_t size, struct plx_error *err);

/*
 * Drop all rows but those of jobs in each list: names with commas between, or
 * NULL for any. Of job ids, "3" stands for its tasks "3_1" and parts "3+1".
 */
void plx_rows_keep(struct plx_rows *rows, const char *jobs, const char *users,
		   const char *accounts, const char *partitions);

void plx_rows_release(struct plx_rows *rows);

#endif
