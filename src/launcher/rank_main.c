/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * rank_main.c - pollux-rank: what srun or mpirun starts for every rank
 *
 * It gives the program its environment and its processors and sees it to its
 * end; pollux-launch writes its command line, nobody else does.
 */
#include "config.h"

#include <argp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "launcher/rank/port.h"
#include "launcher/rank/rank_bind.h"
#include "launcher/rank/rank_notes.h"
#include "launcher/rank/rank_watch.h"
#include "launcher/ranks/srun_step.h"
#include "wire/env.h"
#include "wire/namespaces.h"

#define EXIT_USAGE 2
#define SAYS_SIZE  1400

const char *argp_program_version = "pollux-rank " PACKAGE_VERSION;

static const char doc[] =
	"Run PROGRAM as one rank of a training. pollux-launch starts it, "
	"through srun or mpirun.";

/* clang-format off */
static const struct argp_option options[] = {
	{ "bind", 'b', "WHAT", 0,
	  "auto: to processors and memory near the GPU; none", 0 },
	{ "log-dir", 'l', "DIR", 0, "Output goes there, too", 0 },
	{ "notes", 'n', "DIR", 0, "Where the launcher looks for notes", 0 },
	{ "stop-signal", 's', "NUMBER", 0,
	  "On SIGURG, send this to the program", 0 },
	{ "saved-code", 'c', "CODE", 0,
	  "The exit code that says: saved, start me again", 0 },
	{ "verbose", 'v', NULL, 0, "Say where the rank is bound", 0 },
	{ 0 },
};
/* clang-format on */

struct command {
	struct plx_rank_order order;
	bool bind;
	bool verbose;
};

static int read_number(struct argp_state *state, const char *text, int max)
{
	char *end;
	long value = strtol(text, &end, 10);

	if (end == text || *end || value < 0 || value > max)
		argp_error(state, "%s: want a number from 0 to %d", text, max);
	return (int) value;
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct command *command = state->input;

	switch (key) {
	case 'b':
		command->bind = strcmp(arg, "none") != 0;
		break;
	case 'l':
		command->order.log_folder = arg;
		break;
	case 'n':
		command->order.notes = arg;
		break;
	case 's':
		command->order.stop_signal = read_number(state, arg, SIGRTMAX);
		break;
	case 'c':
		command->order.saved_code = read_number(state, arg, 255);
		break;
	case 'v':
		command->verbose = true;
		break;
	case ARGP_KEY_ARG:
		command->order.program = state->argv + state->next - 1;
		state->next = state->argc;
		break;
	case ARGP_KEY_NO_ARGS:
		argp_error(state, "no PROGRAM to run");
		break;
	default:
		return ARGP_ERR_UNKNOWN;
	}
	return 0;
}

static const struct argp argp = {
	.options = options,
	.parser = parse,
	.args_doc = "PROGRAM [ARGUMENT...]",
	.doc = doc,
};

/*
 * Rank 0 listens where all meet. If somebody else does, the others would meet
 * him: better no start, the next one has another port.
 */
static int check_port(const struct plx_place *place, struct plx_error *err)
{
	const char *port = getenv("MASTER_PORT");

	if (place->rank != 0 || !port || plx_port_is_free(atoi(port)))
		return 0;
	return plx_fail(err,
			"port %.8s, where the ranks are to meet (MASTER_PORT), "
			"is taken by another program: not starting here",
			port);
}

static int prepare(const struct command *command, struct plx_place *place,
		   struct plx_error *err)
{
	char says[SAYS_SIZE] = "not bound: as wanted";
	int threads;

	if (plx_place_find(place, getenv, err) < 0)
		return -1;
	if (command->bind)
		threads = plx_bind(place, says, sizeof(says));
	else
		threads = plx_bind_none(place);
	if (command->verbose)
		fprintf(stderr, "pollux-rank: rank %d is %s\n", place->rank,
			says);
	if (plx_namespaces_export(err) < 0)
		return -1;
	return plx_place_export(place, threads, err);
}

/* So that the launcher knows on which nodes no rank has come so far. */
static void report(const struct plx_rank_order *order,
		   const struct plx_place *place)
{
	const char *node = getenv("SLURMD_NODENAME");

	if (order->notes && node && place->local == 0)
		plx_here_write(order->notes, order->generation, node);
}

int main(int argc, char **argv)
{
	struct command command = { .bind = true };
	const char *generation = getenv(PLX_ENV_GENERATION);
	/* Too large for comfort on the stack. */
	static struct plx_rank rank;
	struct plx_place place;
	struct plx_error err;

	argp_err_exit_status = EXIT_USAGE;
	argp_parse(&argp, argc, argv, ARGP_IN_ORDER, NULL, &command);
	command.order.generation = generation ? atoi(generation) : 1;
	if (prepare(&command, &place, &err) < 0)
		goto fail;
	report(&command.order, &place);
	if (check_port(&place, &err) < 0) {
		fprintf(stderr, "pollux-rank: %s\n", err.text);
		return PLX_SRUN_FAILED;
	}
	if (plx_rank_start(&rank, &command.order, &place, &err) < 0)
		goto fail;
	return plx_rank_watch(&rank);
fail:
	fprintf(stderr, "pollux-rank: %s\n", err.text);
	return EXIT_FAILURE;
}
