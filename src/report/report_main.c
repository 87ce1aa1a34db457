/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * report_main.c - pollux-report: every job's shapes over time, from sacct
 *
 * Exit codes: 0 printed; 1 failed, or the log and sacct differ; 2 misuse.
 */

#include <argp.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <time.h>

#include "config.h"
#include "report/history.h"
#include "report/ledger.h"
#include "report/print.h"
#include "report/rows.h"
#include "report/sacct.h"

#define EXIT_MISUSE 2

struct arguments {
	struct plx_sacct sacct;
	const char *parsable; /* file in place of sacct */
	const char *log;      /* of slurmctld */
	bool json;
};

enum { KEY_JSON = 0x100, KEY_LOG, KEY_PARSABLE };

static const struct argp_option options[] = {
	/* clang-format off */
	{ "jobs", 'j', "JOBS", 0, "only these jobs: 5,7,9", 0 },
	{ "since", 'S', "TIME", 0, "jobs that ran after TIME, as sacct takes it "
	  "(default: midnight; with --jobs: always)", 0 },
	{ "until", 'E', "TIME", 0, "jobs that ran before TIME", 0 },
	{ "user", 'u', "USER", 0, "jobs of USER, or of ALL users", 0 },
	{ "json", KEY_JSON, NULL, 0, "print JSON", 0 },
	{ "log", KEY_LOG, "FILE", 0, "check sacct against sched/pollux's lines "
	  "in slurmctld's log; exit code 1 when they differ", 0 },
	{ "parsable", KEY_PARSABLE, "FILE", 0, "read FILE (- for standard "
	  "input), the output of sacct -D -P -o " PLX_SACCT_FORMAT
	  ", instead of running sacct", 0 },
	{ NULL, 0, NULL, 0, NULL, 0 },
	/* clang-format on */
};

const char *argp_program_version = "pollux-report " PACKAGE_VERSION;

static error_t parse_option(int key, char *value, struct argp_state *state)
{
	struct arguments *args = state->input;

	switch (key) {
	case 'j':
		args->sacct.jobs = value;
		break;
	case 'S':
		args->sacct.since = value;
		break;
	case 'E':
		args->sacct.until = value;
		break;
	case 'u':
		args->sacct.user = value;
		break;
	case KEY_JSON:
		args->json = true;
		break;
	case KEY_LOG:
		args->log = value;
		break;
	case KEY_PARSABLE:
		args->parsable = value;
		break;
	case ARGP_KEY_ARG:
		argp_error(state, "unexpected argument '%s'", value);
		break;
	default:
		return ARGP_ERR_UNKNOWN;
	}
	return 0;
}

static int load(const struct arguments *args, struct plx_rows *rows,
		struct plx_error *err)
{
	char *text = NULL;
	size_t size = 0;
	int rc;

	if (args->parsable)
		rc = plx_sacct_load(args->parsable, &text, &size, err);
	else
		rc = plx_sacct_run(&args->sacct, &text, &size, err);
	if (rc == 0)
		rc = plx_rows_parse(text, size, rows, err);
	free(text);
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
	return ask->jobs || ask->until ||
	       (ask->user && strcasecmp(ask->user, "ALL") != 0);
}

static int check_log(const struct arguments *args,
		     const struct plx_history *history, struct verdict *verdict,
		     struct plx_error *err)
{
	struct plx_ledger ledger = { NULL, 0 };
	FILE *log = fopen(args->log, "re");
	int rc;

	if (!log)
		return plx_fail(err, "%s: %s", args->log, strerror(errno));
	rc = plx_ledger_read(log, &ledger, err);
	fclose(log);
	if (rc < 0)
		return -1;
	verdict->agreed =
		plx_ledger_check(&ledger, history, only_some(&args->sacct),
				 tell, verdict, &verdict->differences);
	plx_ledger_release(&ledger);
	if (args->json)
		return 0;
	if (verdict->differences > 0)
		printf("sacct and the log differ in %d shapes and agree in "
		       "%d.\n",
		       verdict->differences, verdict->agreed);
	else
		printf("sacct and the log agree on the GPU-seconds of %d "
		       "shapes.\n",
		       verdict->agreed);
	return 0;
}

static int print_json(const struct plx_history *history,
		      const struct verdict *verdict, bool checked,
		      struct plx_error *err)
{
	json_t *root = plx_print_json(history);
	int rc;

	if (root && checked)
		json_object_set_new(root, "log",
				    json_pack("{s:i, s:O}", "shapes_agreed",
					      verdict->agreed, "differences",
					      verdict->sentences));
	rc = root ? json_dumpf(root, stdout, JSON_INDENT(2)) : -1;
	json_decref(root);
	if (rc < 0)
		return plx_fail(err, "cannot write JSON");
	putchar('\n');
	return 0;
}

/* 0, 1 when log and sacct differ, -1 with err set. */
static int report(const struct arguments *args, struct plx_error *err)
{
	struct plx_rows rows = { NULL, 0 };
	struct plx_history history = { .count = 0 };
	struct verdict verdict = { .sentences = json_array(),
				   .quiet = args->json };
	int rc = -1;

	if (load(args, &rows, err) < 0 ||
	    plx_history_make(&rows, time(NULL), &history, err) < 0)
		goto done;
	if (!args->json)
		plx_print_table(&history, stdout);
	if (args->log && check_log(args, &history, &verdict, err) < 0)
		goto done;
	if (args->json && print_json(&history, &verdict, args->log, err) < 0)
		goto done;
	if (fflush(stdout) != 0) {
		plx_fail(err, "cannot write: %s", strerror(errno));
		goto done;
	}
	rc = verdict.differences > 0;
done:
	plx_history_release(&history);
	plx_rows_release(&rows);
	json_decref(verdict.sentences);
	return rc;
}

int main(int argc, char **argv)
{
	static const struct argp argp = {
		.options = options,
		.parser = parse_option,
		.doc = "Every job's shapes over time, GPU-seconds, resizes and "
		       "pauses, from Slurm's accounting.",
	};
	struct arguments args = { .json = false };
	struct plx_error err = { "" };
	int rc;

	argp_err_exit_status = EXIT_MISUSE;
	argp_parse(&argp, argc, argv, 0, NULL, &args);
	rc = report(&args, &err);
	if (rc < 0)
		fprintf(stderr, "pollux-report: %s\n", err.text);
	return rc == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
