/* SPDX-License-Identifier: GPL-2.0-or-later */
/* publish.c - the plugin's numbers in a file, for pollux-stat and Prometheus */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/slurm_compat.h"
#include "sched/pollux/monotonic.h"
#include "sched/pollux/report/count.h"
#include "sched/pollux/report/file.h"
#include "sched/pollux/report/publish.h"

#define EACH_S	   5
#define COMPLAIN_S 3600
#define NAME	   "pollux.prom"
#define NO	   "no"

/* The thread's own; times of the monotonic clock. */
static struct {
	double written_s;
	double complained_s;
	bool complained;
} last;

void pollux_publish_path(struct pollux_params *params)
{
	const char *log = slurm_conf.slurmctld_logfile;
	const char *slash = log ? strrchr(log, '/') : NULL;
	size_t size = sizeof(params->metrics);
	int length = 0;

	if (params->metrics[0])
		return;
	if (slash && log[0] == '/')
		length = snprintf(params->metrics, size, "%.*s/" NAME,
				  (int) (slash - log), log);
	if (length <= 0 || (size_t) length >= size)
		snprintf(params->metrics, size, NO);
}

static void _complain(const struct plx_error *err, double now_s)
{
	if (last.complained && now_s - last.complained_s < COMPLAIN_S)
		return;
	last.complained = true;
	last.complained_s = now_s;
	error("sched/pollux: numbers for operators are not written: %s",
	      err->text);
}

void pollux_publish(const char *path)
{
	char draft[POLLUX_FOLDER_SIZE + 16];
	struct plx_metrics metrics;
	double now_s = pollux_now_s();
	struct plx_error err;
	char *text = NULL;

	if (path[0] != '/' || now_s - last.written_s < EACH_S)
		return;
	last.written_s = now_s;
	pollux_count_read(&metrics, (double) time(NULL));
	text = plx_metrics_text(&metrics);
	if (!text)
		return;
	snprintf(draft, sizeof(draft), "%s.draft", path);
	/* What is in it is no secret: anybody may ask slurmctld for the like.
	 */
	if (pollux_file_replace(path, draft, text, 0644, &err) < 0)
		_complain(&err, now_s);
	free(text);
}
