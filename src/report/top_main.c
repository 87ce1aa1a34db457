/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * top_main.c - pollux-top: a live table of jobs, their GPUs and why
 *
 * On a terminal it redraws in place and hears keys (top_live.c), elsewhere it
 * prints one block a look.
 * Exit codes: 0; 1 slurmctld did not answer (--once); 2 misuse.
 */

#define _GNU_SOURCE

#include <argp.h>
#include <langinfo.h>
#include <locale.h>
#include <math.h>
#include <pwd.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "config.h"
#include "client/libslurm.h"
#include "report/top.h"
#include "report/top_live.h"
#include "report/tty.h"

#define EXIT_MISUSE  2
#define INTERVAL_MAX 3600.0 /* seconds */

struct arguments {
	double interval_s;
	long looks; /* 0: until interrupted */
	bool json;
	bool plain; /* never redraw */
	bool reverse;
	const char *user; /* NULL: all */
	const struct plx_top_column *sort;
};

enum { KEY_ONCE = 0x100, KEY_JSON, KEY_PLAIN };

static const struct argp_option options[] = {
	/* clang-format off */
	{ "once", KEY_ONCE, NULL, 0, "print one table and leave", 0 },
	{ "count", 'n', "N", 0, "leave after N tables", 0 },
	{ "interval", 'i', "SECONDS", 0, "between tables (default 1)", 0 },
	{ "plain", KEY_PLAIN, NULL, 0, "print one table after the other, on a "
	  "terminal too", 0 },
	{ "sort", 's', "COLUMN", 0, "by which the jobs are sorted: job, name, "
	  "user, state (default), gpus, batch, goodput, efficiency, speedup, "
	  "done, left, changed", 0 },
	{ "reverse", 'r', NULL, 0, "sort the other way round", 0 },
	{ "user", 'u', "NAME", 0, "only this user's jobs", 0 },
	{ "json", KEY_JSON, NULL, 0, "print JSON, one line a look", 0 },
	{ NULL, 0, NULL, 0, NULL, 0 },
	/* clang-format on */
};

const char *argp_program_version = "pollux-top " PACKAGE_VERSION;

static volatile sig_atomic_t stopped;

static void stop(int sig)
{
	(void) sig;
	stopped = 1;
}

static double read_number(const char *text, double min, double max,
			  struct argp_state *state)
{
	char *rest;
	double value = strtod(text, &rest);

	if (rest == text || *rest || !(value >= min && value <= max))
		argp_error(state, "'%s': want a number from %g to %g", text,
			   min, max);
	return value;
}

static error_t parse_option(int key, char *value, struct argp_state *state)
{
	struct arguments *args = state->input;

	switch (key) {
	case KEY_ONCE:
		args->looks = 1;
		break;
	case 'n':
		args->looks = (long) read_number(value, 1, 1e9, state);
		break;
	case 'i':
		args->interval_s = read_number(value, 0.1, INTERVAL_MAX, state);
		break;
	case 's':
		args->sort = plx_top_column_named(value);
		if (!args->sort)
			argp_error(state, "'%s': no such column", value);
		break;
	case 'r':
		args->reverse = true;
		break;
	case 'u':
		args->user = value;
		break;
	case KEY_PLAIN:
		args->plain = true;
		break;
	case KEY_JSON:
		args->json = true;
		break;
	case ARGP_KEY_ARG:
		argp_error(state, "unexpected argument '%s'", value);
		break;
	default:
		return ARGP_ERR_UNKNOWN;
	}
	return 0;
}

static void show(const struct arguments *args, const struct plx_top *top)
{
	json_t *json;

	if (args->json) {
		json = plx_view_json(&top->view, top->order, top->shown);
		if (json)
			json_dumpf(json, stdout, JSON_COMPACT);
		json_decref(json);
	} else {
		plx_top_print(&top->view, top->order, top->shown, stdout);
	}
	if (args->json || args->looks != 1)
		putchar('\n');
	fflush(stdout);
}

static void sleep_s(double seconds)
{
	struct timespec left = { (time_t) seconds,
				 (long) (1e9 * fmod(seconds, 1)) };

	/* A signal ends the sleep: it is time to leave. */
	nanosleep(&left, NULL);
}

static int look(const struct arguments *args, struct plx_top *top)
{
	struct plx_view view;
	struct plx_error err;

	if (plx_view_load(&view, &err) < 0) {
		fprintf(stderr, "pollux-top: %s\n", err.text);
		return -1;
	}
	plx_top_take(top, &view);
	show(args, top);
	return 0;
}

/* One table after the other; -1: the last look failed. */
static int print(const struct arguments *args, struct plx_top *top)
{
	const struct sigaction on_stop = { .sa_handler = stop };
	int rc = 0;

	sigaction(SIGINT, &on_stop, NULL);
	sigaction(SIGTERM, &on_stop, NULL);
	for (long i = 0; !stopped && !ferror(stdout); i++) {
		if (i > 0)
			sleep_s(args->interval_s);
		if (stopped)
			break;
		rc = look(args, top);
		if (args->looks && i + 1 >= args->looks)
			break;
	}
	return rc;
}

static int live(const struct arguments *args, struct plx_top *top)
{
	const char *no_colour = getenv("NO_COLOR");
	const struct passwd *me = getpwuid(getuid());
	const struct plx_live set = {
		.interval_s = args->interval_s,
		.looks = args->looks,
		.colour = !no_colour || !*no_colour,
		.utf8 = !strcmp(nl_langinfo(CODESET), "UTF-8"),
	};
	struct plx_error err;
	int rc;

	top->me = me ? strdup(me->pw_name) : NULL;
	rc = plx_live_run(&set, top, &err);
	if (rc < 0)
		fprintf(stderr, "pollux-top: %s\n", err.text);
	return rc;
}

int main(int argc, char **argv)
{
	static const struct argp argp = {
		.options = options,
		.parser = parse_option,
		.doc = "Jobs, their GPUs, batch size and goodput, and why they "
		       "were last resized.",
	};
	struct arguments args = { .interval_s = 1 };
	struct plx_top top;
	int rc;

	argp_err_exit_status = EXIT_MISUSE;
	argp_parse(&argp, argc, argv, 0, NULL, &args);
	setlocale(LC_CTYPE, "");
	plx_top_init(&top, args.sort);
	top.reverse = args.reverse;
	top.user = args.user;
	slurm_init(NULL);
	if (!args.plain && !args.json && args.looks != 1 && plx_tty_is_there())
		/* Threads may be inside libslurm: no slurm_fini(). */
		_exit(live(&args, &top) < 0 && args.looks ? EXIT_FAILURE
							  : EXIT_SUCCESS);
	rc = print(&args, &top);
	plx_top_release(&top);
	slurm_fini();
	return rc < 0 && args.looks ? EXIT_FAILURE : EXIT_SUCCESS;
}
