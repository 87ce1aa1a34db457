/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * report_main.c - pollux-report: every job's shapes over time, from sacct
 *
 * Exit codes: 0 printed; 1 failed, or the log and sacct differ; 2 misuse.
 */

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <time.h>

#include "report/group.h"
#include "report/history.h"
#include "report/events_read.h"
#include "report/shape_log.h"
#include "report/page.h"
#include "report/print.h"
#include "report/report_options.h"
#include "report/rows.h"
#include "report/sacct.h"
#include "report/job_efficiency.h"

static int load(const struct plx_report_options *args, struct plx_rows *rows,
		struct plx_error *err)
{
	const struct plx_sacct *ask = &args->sacct;
	bool everybody = ask->user && !strcasecmp(ask->user, "ALL");
	char *text = NULL;
	size_t size = 0;
	int rc;

	if (args->from)
		rc = plx_sacct_load(args->from, &text, &size, err);
	else
		rc = plx_sacct_run(&args->sacct, &text, &size, err);
	if (rc == 0 && args->from)
		rc = plx_rows_believable(text, size, err);
	if (rc == 0)
		rc = plx_rows_parse(text, size, rows, err);
	free(text);
	if (rc == 0 && args->from)
		plx_rows_keep(rows, ask->jobs, everybody ? NULL : ask->user,
			      ask->account, ask->partition);
	return rc;
}

/* What the comparison found. */
struct verdict {
	json_t *sentences;
	bool quiet;
	int agreed;
	int differences;
};

static void tell(const char *sentence, void *arg)
{
	struct verdict *verdict = arg;

	json_array_append_new(verdict->sentences, json_string(sentence));
	if (!verdict->quiet)
		printf("%s\n", sentence);
}

/* Does sacct leave out jobs that the log may have? --since is the user's. */
static bool only_some(const struct plx_sacct *ask)
{
	return ask->jobs || ask->until || ask->account || ask->partition ||
	       (ask->user && strcasecmp(ask->user, "ALL") != 0);
}

static int read_log(const char *path, struct plx_shape_log *shapes,
		    struct plx_error *err)
{
	FILE *log = fopen(path, "re");
	int rc;

	if (!log)
		return plx_fail(err, "%s: %s", path, strerror(errno));
	rc = plx_shape_log_read(log, shapes, err);
	fclose(log);
	return rc;
}

static int read_events(const struct plx_report_options *args,
		       struct plx_changes *changes, struct plx_error *err)
{
	struct plx_error why = { .text = "" };

	for (size_t i = 0; i < args->event_count; i++) {
		FILE *file = fopen(args->events[i], "re");

		if (!file)
			return plx_fail(err, "%s: %s", args->events[i],
					strerror(errno));
		if (plx_events_read(file, changes, &why) < 0) {
			fclose(file);
			return plx_fail(err, "%s: %s", args->events[i],
					why.text);
		}
		fclose(file);
	}
	return 0;
}

static void check_log(const struct plx_report_options *args,
		      struct plx_shape_log *shapes,
		      const struct plx_history *history,
		      struct verdict *verdict)
{
	verdict->agreed =
		plx_shape_log_check(shapes, history, only_some(&args->sacct),
				    tell, verdict, &verdict->differences);
	if (verdict->quiet)
		return;
	if (verdict->differences > 0)
		printf("sacct and the log differ in %d shapes and agree in "
		       "%d.\n",
		       verdict->differences, verdict->agreed);
	else
		printf("sacct and the log agree on the GPU-seconds of %d "
		       "shapes.\n",
		       verdict->agreed);
}

static int print_json(const struct plx_history *history,
		      const struct verdict *verdict, bool checked,
		      struct plx_error *err)
{
	json_t *log = NULL;
	int rc;

	if (checked)
		log = json_pack("{s:i, s:O}", "shapes_agreed", verdict->agreed,
				"differences", verdict->sentences);
	rc = plx_print_json(history, log, stdout, err);
	json_decref(log);
	return rc;
}

static int print_groups(const struct plx_report_options *args,
			const struct plx_history *history,
			struct plx_error *err)
{
	struct plx_groups groups = { NULL, 0 };
	int rc = 0;

	if (plx_group_make(history, args->by, &groups, err) < 0)
		return -1;
	if (args->json) {
		rc = plx_print_groups_json(&groups, args->by, stdout, err);
	} else {
		if (!args->no_header)
			plx_columns_head(&args->columns, args->style, stdout);
		for (size_t i = 0; i < groups.count; i++)
			plx_columns_row(&args->columns, args->style,
					&groups.groups[i], stdout);
	}
	plx_group_release(&groups);
	return rc;
}

static void print_columns(const struct plx_report_options *args,
			  const struct plx_history *history)
{
	if (!args->no_header)
		plx_columns_head(&args->columns, args->style, stdout);
	for (size_t i = 0; i < history->count; i++)
		plx_columns_row(&args->columns, args->style,
				&history->records[i], stdout);
}

static int print_page(const struct plx_report_options *args,
		      const struct plx_history *history, struct plx_error *err)
{
	bool is_stdout = !strcmp(args->html, "-");
	FILE *out = is_stdout ? stdout : fopen(args->html, "we");
	int rc;

	if (!out)
		return plx_fail(err, "%s: %s", args->html, strerror(errno));
	rc = plx_page_print(history, args->setting.cluster_gpus, out, err);
	if (!is_stdout && fclose(out) != 0)
		rc = plx_fail(err, "cannot write %s", args->html);
	return rc;
}

/* All but JSON of jobs, which the log's verdict is a part of. */
static int print(const struct plx_report_options *args,
		 const struct plx_history *history, struct plx_error *err)
{
	if (args->html)
		return print_page(args, history, err);
	if (args->by)
		return print_groups(args, history, err);
	if (args->formatted)
		print_columns(args, history);
	else
		plx_print_table(history, args->whys, stdout);
	return 0;
}

/* 0, 1 when log and sacct differ, -1 with err set. */
static int report(struct plx_report_options *args, struct plx_error *err)
{
	struct plx_rows rows = { NULL, 0 };
	struct plx_history history = { .count = 0 };
	struct plx_shape_log shapes = { NULL, 0 };
	struct plx_changes changes = { NULL, 0 };
	struct verdict verdict = {
		.sentences = json_array(),
		.quiet = args->json || args->formatted || args->html,
	};
	bool whole_json = args->json && !args->by;
	int rc = -1;

	if (load(args, &rows, err) < 0 ||
	    plx_history_make(&rows, time(NULL), &history, err) < 0 ||
	    plx_efficiency_make(&history, &args->setting, err) < 0)
		goto done;
	if (args->log && read_log(args->log, &shapes, err) < 0)
		goto done;
	if (read_events(args, &changes, err) < 0)
		goto done;
	plx_shape_log_explain(&shapes, &history);
	plx_events_explain(&changes, &history);
	if (!whole_json && print(args, &history, err) < 0)
		goto done;
	if (args->log)
		check_log(args, &shapes, &history, &verdict);
	if (whole_json && print_json(&history, &verdict, args->log, err) < 0)
		goto done;
	if (fflush(stdout) != 0) {
		plx_fail(err, "cannot write: %s", strerror(errno));
		goto done;
	}
	rc = verdict.differences > 0;
done:
	plx_events_release(&changes);
	plx_shape_log_release(&shapes);
	plx_history_release(&history);
	plx_rows_release(&rows);
	json_decref(verdict.sentences);
	return rc;
}

int main(int argc, char **argv)
{
	struct plx_report_options args;
	struct plx_error err = { .text = "" };
	int rc;

	plx_report_options_read(argc, argv, &args);
	rc = report(&args, &err);
	if (rc < 0)
		fprintf(stderr, "pollux-report: %s\n", err.text);
	free(args.events);
	return rc == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
