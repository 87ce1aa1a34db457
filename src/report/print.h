/* SPDX-License-Identifier: GPL-2.0-or-later */
/* print.h - a history for people, and for programs */
#ifndef PLX_REPORT_PRINT_H
#define PLX_REPORT_PRINT_H

#include <jansson.h>
#include <stdio.h>

#include "report/group.h"
#include "report/history.h"

/*
 * The table: a line a job, its shapes below it, the totals at the end. whys:
 * a line a shape, with the reason for which it was left where it is known.
 */
void plx_print_table(const struct plx_history *history, bool whys, FILE *out);

/* A line for each shape of one job, with its time, and why it was left. */
void plx_print_run_result(const struct plx_record *r, int indent, FILE *out);

/*
 * Write {"jobs": [...], "total": {...}}, a job a line, without holding more
 * than one job in memory; extra, if not NULL, is taken as its member "log".
 */
int plx_print_json(const struct plx_history *history, json_t *extra, FILE *out,
		   struct plx_error *err);

/* Write {"by": "user", "groups": [...]}. */
int plx_print_groups_json(const struct plx_groups *groups, const char *by,
			  FILE *out, struct plx_error *err);

/* Why the shape was left: from the log, or the job's story; or "". */
void plx_print_why(const struct plx_history_span *span, char *text,
		   size_t size);

#endif
