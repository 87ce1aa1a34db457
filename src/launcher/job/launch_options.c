/* SPDX-License-Identifier: GPL-2.0-or-later */
/* launch_options.c - the command line of pollux-launch */
#include "config.h"

#include <argp.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "core/records/options.h"
#include "core/jobs/limit.h"
#include "launcher/rules/hang.h"
#include "launcher/job/launch_options.h"

#define SECONDS_MAX 86400.0
#define SAVED_CODE  85

const char *argp_program_version = "pollux-launch " PACKAGE_VERSION;

static const char doc[] =
	"Run PROGRAM on all GPUs of this Slurm job, one rank a GPU, and "
	"move it when the job is resized; or run it on this machine alone."
	"\vIn a Slurm job, with or without srun:\n"
	"  sbatch --scheduler-params=pollux,min=1,max=8 --wrap "
	"'srun pollux-launch ./train'\n"
	"Without Slurm, and from another terminal:\n"
	"  pollux-launch --local -n 2 ./train\n"
	"  pollux-launch --resize=4 --job=train\n"
	"The exit code is that of PROGRAM; pollux-launch(1) has it all.";

enum {
	KEY_QUIET = 'q',
	KEY_VERBOSE = 'v',
	KEY_FOLDER = 'd',
	KEY_RANKS = 'n',
	KEY_POLL = 0x100,
	KEY_HINT,
	KEY_SAVE,
	KEY_LIMIT,
	KEY_RESTARTS,
	KEY_MPI,
	KEY_SRUN,
	KEY_RELAY,
	KEY_COLD,
	KEY_WARM,
	KEY_HANG,
	KEY_ON_RESIZE,
	KEY_BIND,
	KEY_LOGS,
	KEY_JSON,
	KEY_NO_PROGRESS,
	KEY_LOCAL,
	KEY_NAME,
	KEY_PARAMS,
	KEY_JOB,
	KEY_RESIZE,
	KEY_STATUS,
	KEY_CHECKPOINT,
	KEY_STOP,
	KEY_REHEARSE,
};

/* clang-format off */
static const struct argp_option options[] = {
	{ NULL, 0, NULL, 0, "Training:", 1 },
	{ "checkpoint-dir", KEY_FOLDER, "DIR", 0,
	  "Where checkpoints are kept (default ./pollux-JOBID)", 0 },
	{ "on-resize", KEY_ON_RESIZE, "HOW", 0,
	  "How ranks are told to save: libpollux; signal[:NAME], for programs "
	  "without it (default USR1); auto, what they understand (default). "
	  "Then: ,grace=SECONDS ,exit=CODE (default 85)", 0 },
	{ "save-timeout", KEY_SAVE, "SECONDS", 0,
	  "Ranks that take longer to save and leave are killed "
	  "(default 20)", 0 },
	{ "limit-margin", KEY_LIMIT, "SECONDS", 0,
	  "Save so long before the job's time limit, besides twice what "
	  "saving takes (default 30); off", 0 },
	{ "no-prewarm", KEY_COLD, NULL, 0,
	  "Stop the ranks before those that follow them are started, "
	  "also where both could run", 0 },
	{ "warm-timeout", KEY_WARM, "SECONDS", 0,
	  "Ranks started beside the running ones that take longer to be "
	  "ready are given up; auto: 60, or twice what the longest start "
	  "took (default)", 0 },
	{ "max-restarts", KEY_RESTARTS, "N", 0,
	  "Restarts after faults without progress in between "
	  "(default 3)", 0 },
	{ "hang-timeout", KEY_HANG, "SECONDS", 0,
	  "Ranks that commit no step for so long are killed and started "
	  "again; auto: by how long steps took (default); off", 0 },
	{ "bind", KEY_BIND, "HOW", 0,
	  "Bind ranks to processors and memory near their GPU: "
	  "auto (default) or none", 0 },

	{ NULL, 0, NULL, 0, "Output:", 2 },
	{ "verbose", KEY_VERBOSE, NULL, 0, "Say every step", 0 },
	{ "quiet", KEY_QUIET, NULL, 0, "Say nothing but errors", 0 },
	{ "no-progress", KEY_NO_PROGRESS, NULL, 0,
	  "No progress line on a terminal", 0 },
	{ "json-log", KEY_JSON, "FILE", 0,
	  "Append each event to FILE as a line of JSON", 0 },
	{ "log-dir", KEY_LOGS, "DIR", 0,
	  "Copy each rank's output to DIR/gen-NNNN/rank-NNNN.log", 0 },

	{ NULL, 0, NULL, 0, "In a Slurm job:", 3 },
	{ "poll", KEY_POLL, "SECONDS", 0,
	  "Time between looks at the job's record while nothing is told "
	  "(default 30)", 0 },
	{ "hint-interval", KEY_HINT, "SECONDS", 0,
	  "Least time between hints passed to the scheduler "
	  "(default 2)", 0 },
	{ "mpi", KEY_MPI, "TYPE", 0, "As srun's --mpi (default pmix)", 0 },
	{ "relay", KEY_RELAY, "WHEN", 0,
	  "Reach rank 0 through a step on its node: auto (when it is on "
	  "another machine), always or never (default auto)", 0 },
	{ "srun-option", KEY_SRUN, "OPTION", 0,
	  "Given to the srun (mpirun) that starts the ranks; may be "
	  "repeated", 0 },

	{ NULL, 0, NULL, 0, "Without Slurm:", 4 },
	{ "local", KEY_LOCAL, NULL, 0,
	  "Run on this machine, through mpirun", 0 },
	{ "ranks", KEY_RANKS, "N", 0,
	  "Ranks to begin with (default: one a GPU, or 1)", 0 },
	{ "rehearse", KEY_REHEARSE, NULL, 0,
	  "Try a Python script for a minute: resizes, a lost rank; says "
	  "\"ready\", or a line a problem", 0 },
	{ "params", KEY_PARAMS, "KEY=VALUE,...", 0,
	  "Limits, as in --scheduler-params", 0 },
	{ "name", KEY_NAME, "NAME", 0,
	  "Name of this job (default: that of PROGRAM)", 0 },

	{ NULL, 0, NULL, 0, "To a local job that runs:", 5 },
	{ "job", KEY_JOB, "NAME", 0,
	  "Which one: its name, or its launcher's process id", 0 },
	{ "resize", KEY_RESIZE, "N", 0, "Go on with N ranks", 0 },
	{ "status", KEY_STATUS, NULL, 0, "Show how it does", 0 },
	{ "checkpoint", KEY_CHECKPOINT, NULL, 0, "Write a checkpoint now", 0 },
	{ "stop", KEY_STOP, NULL, 0, "Save and end", 0 },
	{ 0 },
};
/* clang-format on */

static double read_seconds(struct argp_state *state, const char *name,
			   const char *text, double min)
{
	char *end;
	double value = strtod(text, &end);

	if (end == text || *end || !(value >= min && value <= SECONDS_MAX))
		argp_error(state, "--%s=%s: want seconds from %g to %g", name,
			   text, min, SECONDS_MAX);
	return value;
}

static double read_hang(struct argp_state *state, const char *text)
{
	if (!strcmp(text, "auto"))
		return PLX_HANG_AUTO;
	if (!strcmp(text, "off"))
		return PLX_HANG_OFF;
	return read_seconds(state, "hang-timeout", text, 1);
}

static double read_warm(struct argp_state *state, const char *text)
{
	if (!strcmp(text, "auto"))
		return PLX_WARM_AUTO;
	return read_seconds(state, "warm-timeout", text, 0);
}

static int read_count(struct argp_state *state, const char *name,
		      const char *text, int min, int max)
{
	char *end;
	long value = strtol(text, &end, 10);

	if (end == text || *end || value < min || value > max)
		argp_error(state, "--%s=%s: want a number from %d to %d", name,
			   text, min, max);
	return (int) value;
}

/* Which of the names, which end with NULL? */
static int read_word(struct argp_state *state, const char *name,
		     const char *text, const char *const *names)
{
	char wanted[128] = "";

	for (int i = 0; names[i]; i++) {
		if (!strcmp(text, names[i]))
			return i;
		strcat(wanted, i ? " or " : "");
		strcat(wanted, names[i]);
	}
	argp_error(state, "--%s=%s: want %s", name, text, wanted);
	return 0;
}

static void add_srun_option(struct argp_state *state,
			    struct plx_command *command, char *option)
{
	if (command->srun_count == PLX_LIST_MAX)
		argp_error(state, "more than %d --srun-option", PLX_LIST_MAX);
	command->srun_options[command->srun_count++] = option;
}

static void read_on_resize(struct argp_state *state,
			   struct plx_command *command, const char *text)
{
	struct plx_error err;

	if (plx_on_resize_read(text, command, &err) < 0)
		argp_error(state, "--on-resize: %s", err.text);
}

/* How and where ranks run. */
static bool parse_training(int key, char *arg, struct argp_state *state)
{
	static const char *const relays[] = { "auto", "always", "never", NULL };
	static const char *const binds[] = { "none", "auto", NULL };
	struct plx_command *command = state->input;
	struct plx_settings *s = &command->settings;

	switch (key) {
	case KEY_FOLDER:
		command->folder = arg;
		break;
	case KEY_ON_RESIZE:
		read_on_resize(state, command, arg);
		break;
	case KEY_SAVE:
		s->save_timeout_s = read_seconds(state, "save-timeout", arg, 0);
		break;
	case KEY_LIMIT:
		s->limit_margin_s =
			strcmp(arg, "off") != 0
				? read_seconds(state, "limit-margin", arg, 0)
				: PLX_LIMIT_OFF;
		break;
	case KEY_COLD:
		s->prewarm = false;
		break;
	case KEY_WARM:
		s->warm_timeout_s = read_warm(state, arg);
		break;
	case KEY_RESTARTS:
		s->max_restarts =
			read_count(state, "max-restarts", arg, 0, 1000000);
		break;
	case KEY_HANG:
		s->hang_timeout_s = read_hang(state, arg);
		break;
	case KEY_BIND:
		command->bind = read_word(state, "bind", arg, binds) == 1;
		break;
	case KEY_POLL:
		s->poll_s = read_seconds(state, "poll", arg, 0.01);
		break;
	case KEY_HINT:
		s->hint_interval_s =
			read_seconds(state, "hint-interval", arg, 0);
		break;
	case KEY_MPI:
		s->mpi = arg;
		break;
	case KEY_RELAY:
		s->relay = (enum plx_relaying) read_word(state, "relay", arg,
							 relays);
		break;
	case KEY_SRUN:
		add_srun_option(state, command, arg);
		break;
	default:
		return false;
	}
	return true;
}

static bool parse_output(int key, char *arg, struct plx_command *command)
{
	struct plx_settings *s = &command->settings;

	switch (key) {
	case KEY_VERBOSE:
		s->loudness = PLX_VERBOSE;
		break;
	case KEY_QUIET:
		s->loudness = PLX_QUIET;
		break;
	case KEY_NO_PROGRESS:
		s->progress = false;
		break;
	case KEY_JSON:
		s->json_log = arg;
		break;
	case KEY_LOGS:
		command->log_folder = arg;
		break;
	default:
		return false;
	}
	return true;
}

static void request(struct argp_state *state, enum plx_launch_request request)
{
	struct plx_command *command = state->input;

	if (command->request)
		argp_error(state, "want one of --resize, --status, "
				  "--checkpoint and --stop");
	command->request = request;
}

static bool parse_local(int key, char *arg, struct argp_state *state)
{
	struct plx_command *command = state->input;

	switch (key) {
	case KEY_LOCAL:
		command->local = true;
		break;
	case KEY_REHEARSE:
		command->rehearse = true;
		break;
	case KEY_RANKS:
		command->ranks =
			read_count(state, "ranks", arg, 1, PLX_GPUS_MAX);
		break;
	case KEY_PARAMS:
		command->params = arg;
		break;
	case KEY_NAME:
		command->name = arg;
		break;
	case KEY_JOB:
		command->job = arg;
		break;
	case KEY_RESIZE:
		request(state, PLX_REQUEST_RESIZE);
		command->resize =
			read_count(state, "resize", arg, 0, PLX_GPUS_MAX);
		break;
	case KEY_STATUS:
		request(state, PLX_REQUEST_STATUS);
		break;
	case KEY_CHECKPOINT:
		request(state, PLX_REQUEST_CHECKPOINT);
		break;
	case KEY_STOP:
		request(state, PLX_REQUEST_STOP);
		break;
	default:
		return false;
	}
	return true;
}

/* What only together makes sense. */
static void check(struct argp_state *state)
{
	struct plx_command *command = state->input;

	if (command->request && command->settings.program)
		argp_error(state, "a request to a running job takes no "
				  "PROGRAM");
	if (command->request && !command->job)
		argp_error(state, "which job? --job=NAME or --job=PID");
	if (!command->request && command->job)
		argp_error(state, "--job wants --resize, --status, "
				  "--checkpoint or --stop");
	if (!command->request && !command->settings.program)
		argp_error(state, "no PROGRAM to run");
	if (command->rehearse && !command->local)
		argp_error(state, "--rehearse goes with --local");
	if (!command->local && (command->ranks || command->params))
		argp_error(state, "-n and --params are for --local; in a Slurm "
				  "job the scheduler decides");
	if (command->grace_s >= 0)
		command->settings.save_timeout_s = command->grace_s;
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct plx_command *command = state->input;

	if (parse_training(key, arg, state) ||
	    parse_output(key, arg, command) || parse_local(key, arg, state))
		return 0;
	switch (key) {
	case ARGP_KEY_ARG:
		/* The rest is the program's, options and all. */
		command->settings.program = state->argv + state->next - 1;
		state->next = state->argc;
		break;
	case ARGP_KEY_END:
		check(state);
		break;
	default:
		return ARGP_ERR_UNKNOWN;
	}
	return 0;
}

static const struct argp argp = {
	.options = options,
	.parser = parse,
	.args_doc = "PROGRAM [ARGUMENT...]\n--job=NAME --resize=N",
	.doc = doc,
};

void plx_options_read(int argc, char **argv, struct plx_command *command)
{
	*command = (struct plx_command){
		.settings = { .mpi = "pmix",
			      .poll_s = 30,
			      .hint_interval_s = 2,
			      .save_timeout_s = 20,
			      .limit_margin_s = PLX_LIMIT_MARGIN_S,
			      .max_restarts = 3,
			      .prewarm = true,
			      .warm_timeout_s = PLX_WARM_AUTO,
			      .hang_timeout_s = PLX_HANG_AUTO,
			      .stop_signal = SIGUSR1,
			      .saved_code = SAVED_CODE,
			      .progress = true,
			      .loudness = PLX_NORMAL },
		.bind = true,
		.grace_s = -1,
	};
	argp_err_exit_status = PLX_EXIT_USAGE;
	argp_parse(&argp, argc, argv, ARGP_IN_ORDER, NULL, command);
	command->settings.srun_options = command->srun_options;
}
