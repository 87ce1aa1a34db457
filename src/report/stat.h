/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * stat.h - the numbers of sched/pollux, from the file it writes
 *
 * The file is text for Prometheus. What is not understood is left out, so
 * that files of older and newer plugins can be read.
 */
#ifndef PLX_REPORT_STAT_H
#define PLX_REPORT_STAT_H

#include <jansson.h>
#include <stddef.h>
#include <stdio.h>

#include "core/base/error.h"
#include "report/cluster_view.h"

#define PLX_STAT_MAX (1 << 20) /* bytes of a file */

struct plx_stat_sample {
	char name[64];	 /* without "pollux_" */
	char labels[96]; /* as written, without braces; "" */
	double value;
};

struct plx_stat {
	struct plx_stat_sample *samples;
	size_t count;
};

/* Release *stat. -1 with err set when nothing of sched/pollux is in it. */
int plx_stat_read(const char *text, struct plx_stat *stat,
		  struct plx_error *err);
void plx_stat_release(struct plx_stat *stat);

/* 0 where it is not there; labels: all of them as written, or "". */
double plx_stat_value(const struct plx_stat *stat, const char *name,
		      const char *labels);

/*
 * The bound below which so many (0 to 1) of a histogram's values are, or the
 * largest value if that is less. labels: 'lock="look",' or "".
 */
double plx_stat_quantile(const struct plx_stat *stat, const char *name,
			 const char *labels, double share);

/* For people; now_s since 1970. */
void plx_stat_print(const struct plx_stat *stat, double now_s, FILE *out);
json_t *plx_stat_json(const struct plx_stat *stat);

/* One line for each elastic job that runs. */
void plx_stat_jobs(const struct plx_view *view, FILE *out);
json_t *plx_stat_jobs_json(const struct plx_view *view);

#endif
