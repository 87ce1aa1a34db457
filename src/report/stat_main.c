/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * stat_main.c - pollux-stat: what sched/pollux does, in numbers
 *
 * Exit codes: 0; 1 the numbers could not be read; 2 misuse.
 */

#include <argp.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "config.h"
#include "client/libslurm.h"
#include "report/stat.h"

#define EXIT_MISUSE 2
#define PATH_SIZE   512
#define KEY	    "pollux_metrics="

enum format { PEOPLE, JSON, PROMETHEUS };

struct arguments {
	enum format format;
	bool jobs;
	double watch_s; /* 0: once */
	const char *file;
};

enum { KEY_JSON = 0x100, KEY_PROMETHEUS };

static const struct argp_option options[] = {
	/* clang-format off */
	{ "jobs", 'j', NULL, 0, "one line for each elastic job: why it has "
	  "what it has", 0 },
	{ "json", KEY_JSON, NULL, 0, "print JSON, one line a look", 0 },
	{ "prometheus", KEY_PROMETHEUS, NULL, 0, "print the file as it is", 0 },
	{ "watch", 'w', "SECONDS", OPTION_ARG_OPTIONAL, "again and again "
	  "(default each 5 s)", 0 },
	{ "file", 'f', "FILE", 0, "read this file instead of the one that "
	  "slurmctld's configuration names", 0 },
	{ NULL, 0, NULL, 0, NULL, 0 },
	/* clang-format on */
};

const char *argp_program_version = "pollux-stat " PACKAGE_VERSION;

static error_t parse_option(int key, char *value, struct argp_state *state)
{
	struct arguments *args = state->input;
	char *rest = NULL;

	switch (key) {
	case 'j':
		args->jobs = true;
		break;
	case 'f':
		args->file = value;
		break;
	case 'w':
		args->watch_s = value ? strtod(value, &rest) : 5;
		if (!(args->watch_s >= 0.1 && args->watch_s <= 3600) ||
		    (rest && *rest))
			argp_error(state, "'%s': want seconds from 0.1 to 3600",
				   value);
		break;
	case KEY_JSON:
		args->format = JSON;
		break;
	case KEY_PROMETHEUS:
		args->format = PROMETHEUS;
		break;
	case ARGP_KEY_ARG:
		argp_error(state, "unexpected argument '%s'", value);
		break;
	case ARGP_KEY_END:
		if (args->jobs && args->format == PROMETHEUS)
			argp_error(state, "--jobs are no numbers for "
					  "Prometheus");
		break;
	default:
		return ARGP_ERR_UNKNOWN;
	}
	return 0;
}

/* As sched/pollux decides it: see sched_pollux(5). */
static int name_file(const slurm_conf_t *conf, char path[PATH_SIZE],
		     struct plx_error *err)
{
	const char *params = conf->sched_params ? conf->sched_params : "";
	const char *log = conf->slurmctld_logfile;
	const char *own = strstr(params, KEY);
	const char *slash = log ? strrchr(log, '/') : NULL;

	if (own && (own == params || own[-1] == ',')) {
		own += strlen(KEY);
		snprintf(path, PATH_SIZE, "%.*s", (int) strcspn(own, ","), own);
	} else if (slash) {
		snprintf(path, PATH_SIZE, "%.*s/pollux.prom",
			 (int) (slash - log), log);
	} else {
		snprintf(path, PATH_SIZE, "no");
	}
	if (!strcmp(path, "no"))
		return plx_fail(err, "slurmctld writes no numbers: "
				     "pollux_metrics=no, or it has no log");
	return 0;
}

static int find_file(char path[PATH_SIZE], struct plx_error *err)
{
	slurm_conf_t *conf = NULL;
	int rc;

	if (slurm_load_ctl_conf((time_t) 0, &conf) != SLURM_SUCCESS)
		return plx_fail(err, "slurmctld does not answer; is it "
				     "running? (--file needs none)");
	rc = name_file(conf, path, err);
	plx_slurm_free_conf(conf);
	return rc;
}

/* The caller's to free; NULL with err set. */
static char *load(const char *path, struct plx_error *err)
{
	char *text = calloc(1, PLX_STAT_MAX + 1);
	FILE *in = fopen(path, "re");

	if (text && in)
		text[fread(text, 1, PLX_STAT_MAX, in)] = '\0';
	else
		plx_fail(err, "%.300s: %s", path, strerror(errno));
	if (in) {
		fclose(in);
		return text;
	}
	free(text);
	return NULL;
}

static void print_json(json_t *json)
{
	if (json)
		json_dumpf(json, stdout, JSON_COMPACT);
	putchar('\n');
	json_decref(json);
}

static int show_jobs(const struct arguments *args, struct plx_error *err)
{
	struct plx_view view;

	if (plx_view_load(&view, err) < 0)
		return -1;
	if (args->format == JSON)
		print_json(plx_stat_jobs_json(&view));
	else
		plx_stat_jobs(&view, stdout);
	plx_view_release(&view);
	return 0;
}

static int show_numbers(const struct arguments *args, struct plx_error *err)
{
	struct plx_stat stat = { .count = 0 };
	char path[PATH_SIZE];
	char *text = NULL;
	int rc = -1;

	if (args->file)
		snprintf(path, sizeof(path), "%s", args->file);
	else if (find_file(path, err) < 0)
		return -1;
	text = load(path, err);
	if (!text || plx_stat_read(text, &stat, err) < 0)
		goto done;
	if (args->format == PROMETHEUS)
		fputs(text, stdout);
	else if (args->format == JSON)
		print_json(plx_stat_json(&stat));
	else
		plx_stat_print(&stat, (double) time(NULL), stdout);
	rc = 0;
done:
	plx_stat_release(&stat);
	free(text);
	return rc;
}

int main(int argc, char **argv)
{
	static const struct argp argp = {
		.options = options,
		.parser = parse_option,
		.doc = "What sched/pollux does and how the cluster does, in "
		       "numbers.",
	};
	struct arguments args = { .format = PEOPLE };
	struct plx_error err;
	int rc = 0;

	argp_err_exit_status = EXIT_MISUSE;
	argp_parse(&argp, argc, argv, 0, NULL, &args);
	slurm_init(NULL);
	do {
		rc = (args.jobs ? show_jobs : show_numbers)(&args, &err);
		if (rc < 0)
			fprintf(stderr, "pollux-stat: %s\n", err.text);
		fflush(stdout);
		if (args.watch_s > 0) {
			if (args.format == PEOPLE)
				putchar('\n');
			usleep((useconds_t) (1e6 * args.watch_s));
		}
	} while (args.watch_s > 0 && !ferror(stdout));
	slurm_fini();
	return rc < 0 ? EXIT_FAILURE : EXIT_SUCCESS;
}
