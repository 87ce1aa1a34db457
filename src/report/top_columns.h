/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * top_columns.h - the columns of pollux-top: a row each in one table
 *
 * A column says what it shows, how it sorts, by which key, and how much it is
 * worth on a narrow terminal.
 */
#ifndef PLX_REPORT_TOP_COLUMNS_H
#define PLX_REPORT_TOP_COLUMNS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "report/cluster_view.h"

#define PLX_TOP_TEXT_SIZE (PLX_WHY_SIZE + 64)

struct plx_top_column {
	const char *title;
	const char *name; /* for --sort; NULL: nothing to sort by */
	char key;	  /* that sorts by it */
	bool right;	  /* aligned */
	bool falling;	  /* the largest first */
	int width;	  /* least, on a terminal; 0: not there */
	int widest;	  /* more is of no use; of names and numbers, less */
	int rank;	  /* the higher, the sooner it has no room */
	int plain;	  /* width in plain tables; 0: not there; -1: open */
	const char *about;
	void (*write)(const struct plx_view *view,
		      const struct plx_view_job *job, char *text, size_t size);
	/* Either of these; NAN and "" come last. */
	double (*value)(const struct plx_view_job *job);
	const char *(*word)(const struct plx_view_job *job);
};

extern const struct plx_top_column plx_top_columns[];
extern const size_t plx_top_column_count;

/* By the name of --sort, of any case; NULL: none is called so. */
const struct plx_top_column *plx_top_column_named(const char *name);
const struct plx_top_column *plx_top_column_keyed(int key);

/* As strcmp(): which comes first; equal ones by number. */
int plx_top_compare(const struct plx_top_column *column, bool reverse,
		    const struct plx_view_job *a, const struct plx_view_job *b);

/* What stands in a column; clean, "-" where nothing is known. */
void plx_top_text(const struct plx_top_column *column,
		  const struct plx_view *view, const struct plx_view_job *job,
		  char text[PLX_TOP_TEXT_SIZE]);

/* The line above the table: nodes, GPUs, jobs, utility. Returns text. */
char *plx_top_summary(const struct plx_view *view, char *text, size_t size);

/* The table without a terminal; order: indexes of the jobs to print. */
void plx_top_print(const struct plx_view *view, const size_t *order,
		   size_t count, FILE *out);

#endif
