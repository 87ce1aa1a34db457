/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * top_main.c - pollux-top: a live table of jobs, their GPUs and why
 *
 * On a terminal it redraws in place, elsewhere it prints one block a look.
 * Exit codes: 0; 1 slurmctld did not answer (--once); 2 misuse.
 */

#include <argp.h>
#include <errno.h>
#include <math.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "config.h"
#include "client/libslurm.h"
#include "report/view.h"

#define EXIT_MISUSE  2
#define INTERVAL_MAX 3600.0 /* seconds */

struct arguments {
	double interval_s;
	long looks; /* 0: until interrupted */
	bool json;
	bool plain; /* never redraw */
};

enum { KEY_ONCE = 0x100, KEY_JSON, KEY_PLAIN };

static const struct argp_option options[] = {
	/* clang-format off */
	{ "once", KEY_ONCE, NULL, 0, "print one table and leave", 0 },
	{ "count", 'n', "N", 0, "leave after N tables", 0 },
	{ "interval", 'i', "SECONDS", 0, "between tables (default 1)", 0 },
	{ "plain", KEY_PLAIN, NULL, 0, "print one table after the other, on a "
	  "terminal too", 0 },
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

static void show(const struct arguments *args, const struct plx_view *view)
{
	bool redraw = !args->plain && !args->json && args->looks != 1 &&
		      isatty(STDOUT_FILENO);
	json_t *json;

	if (args->json) {
		json = plx_view_json(view);
		if (json)
			json_dumpf(json, stdout, JSON_COMPACT);
		json_decref(json);
	} else {
		if (redraw)
			fputs("\033[H\033[2J", stdout);
		plx_view_print(view, stdout);
	}
	if (!redraw && (args->json || args->looks != 1))
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

static int look(const struct arguments *args)
{
	struct plx_view view;
	struct plx_error err;

	if (plx_view_load(&view, &err) < 0) {
		fprintf(stderr, "pollux-top: %s\n", err.text);
		return -1;
	}
	show(args, &view);
	plx_view_release(&view);
	return 0;
}

int main(int argc, char **argv)
{
	static const struct argp argp = {
		.options = options,
		.parser = parse_option,
		.doc = "Jobs, their GPUs, batch size and goodput, and why they "
		       "were last resized.",
	};
	const struct sigaction on_stop = { .sa_handler = stop };
	struct arguments args = { .interval_s = 1 };
	int rc = 0;

	argp_err_exit_status = EXIT_MISUSE;
	argp_parse(&argp, argc, argv, 0, NULL, &args);
	sigaction(SIGINT, &on_stop, NULL);
	sigaction(SIGTERM, &on_stop, NULL);
	slurm_init(NULL);
	for (long i = 0; !stopped && !ferror(stdout); i++) {
		if (i > 0)
			sleep_s(args.interval_s);
		if (stopped)
			break;
		rc = look(&args);
		if (args.looks && i + 1 >= args.looks)
			break;
	}
	slurm_fini();
	return rc < 0 && args.looks ? EXIT_FAILURE : EXIT_SUCCESS;
}
