/* SPDX-License-Identifier: GPL-2.0-or-later */
/* main.c - pollux-launch: its command line and its place in a job */

#include "config.h"

#include <argp.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/error.h"
#include "core/status.h"
#include "launcher/launcher.h"
#include "launcher/relay.h"
#include "wire/env.h"

#define EXIT_USAGE   2
#define SRUN_OPTIONS 32
#define HIGHEST_STEP 0xfffffff0U /* above: batch, interactive, extern */
#define SECONDS_MAX  86400.0

const char *argp_program_version = "pollux-launch " PACKAGE_VERSION;

static const char far_end[] = "--" PLX_RELAY_OPTION "=";

static const char doc[] =
	"Run PROGRAM on all GPUs of this Slurm job, one MPI rank a GPU, and "
	"move it when the job is resized.\v"
	"Start it inside a job, with or without srun:\n"
	"  sbatch --scheduler-params=pollux,min=1,max=8 --wrap "
	"'srun pollux-launch ./train'\n"
	"The exit code is that of PROGRAM.";

enum {
	KEY_QUIET = 'q',
	KEY_VERBOSE = 'v',
	KEY_FOLDER = 'd',
	KEY_POLL = 0x100,
	KEY_HINT,
	KEY_SAVE,
	KEY_RESTARTS,
	KEY_MPI,
	KEY_SRUN,
	KEY_RELAY,
	KEY_COLD,
	KEY_WARM,
};

/* clang-format off */
static const struct argp_option options[] = {
	{ "checkpoint-dir", KEY_FOLDER, "DIR", 0,
	  "Where checkpoints are kept (default ./pollux-JOBID)", 0 },
	{ "save-timeout", KEY_SAVE, "SECONDS", 0,
	  "Ranks that take longer to save and leave are killed "
	  "(default 20)", 0 },
	{ "max-restarts", KEY_RESTARTS, "N", 0,
	  "Restarts after faults without progress in between "
	  "(default 3)", 0 },
	{ "poll", KEY_POLL, "SECONDS", 0,
	  "Time between looks at the job's record (default 1)", 0 },
	{ "hint-interval", KEY_HINT, "SECONDS", 0,
	  "Least time between hints passed to the scheduler "
	  "(default 2)", 0 },
	{ "mpi", KEY_MPI, "TYPE", 0, "As srun's --mpi (default pmix)", 0 },
	{ "relay", KEY_RELAY, "WHEN", 0,
	  "Reach rank 0 through a step on its node: auto (when it is on "
	  "another machine), always or never (default auto)", 0 },
	{ "no-prewarm", KEY_COLD, NULL, 0,
	  "Stop the ranks before those that follow them are started, "
	  "also where both could run", 0 },
	{ "warm-timeout", KEY_WARM, "SECONDS", 0,
	  "Ranks started beside the running ones that take longer to be "
	  "ready are given up (default 60)", 0 },
	{ "srun-option", KEY_SRUN, "OPTION", 0,
	  "Given to the srun that starts the ranks; may be repeated", 0 },
	{ "verbose", KEY_VERBOSE, NULL, 0, "Say every step", 0 },
	{ "quiet", KEY_QUIET, NULL, 0, "Say nothing but errors", 0 },
	{ 0 },
};
/* clang-format on */

struct command {
	struct plx_settings settings;
	const char *folder; /* as given, NULL: default */
	char *srun_options[SRUN_OPTIONS + 1];
	int srun_count;
};

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

static int read_count(struct argp_state *state, const char *name,
		      const char *text)
{
	char *end;
	long value = strtol(text, &end, 10);

	if (end == text || *end || value < 0 || value > 1000000)
		argp_error(state, "--%s=%s: want a number from 0 to 1000000",
			   name, text);
	return (int) value;
}

static void add_srun_option(struct argp_state *state, struct command *command,
			    char *option)
{
	if (command->srun_count == SRUN_OPTIONS)
		argp_error(state, "more than %d --srun-option", SRUN_OPTIONS);
	command->srun_options[command->srun_count++] = option;
}

static enum plx_relaying read_relay(struct argp_state *state, const char *text)
{
	static const char *const names[] = {
		[PLX_RELAY_AUTO] = "auto",
		[PLX_RELAY_ALWAYS] = "always",
		[PLX_RELAY_NEVER] = "never",
	};

	for (int i = PLX_RELAY_AUTO; i <= PLX_RELAY_NEVER; i++) {
		if (!strcmp(text, names[i]))
			return i;
	}
	argp_error(state, "--relay=%s: want auto, always or never", text);
	return PLX_RELAY_AUTO;
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct command *command = state->input;
	struct plx_settings *s = &command->settings;

	switch (key) {
	case KEY_FOLDER:
		command->folder = arg;
		break;
	case KEY_SAVE:
		s->save_timeout_s = read_seconds(state, "save-timeout", arg, 0);
		break;
	case KEY_RESTARTS:
		s->max_restarts = read_count(state, "max-restarts", arg);
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
		s->relay = read_relay(state, arg);
		break;
	case KEY_COLD:
		s->prewarm = false;
		break;
	case KEY_WARM:
		s->warm_timeout_s = read_seconds(state, "warm-timeout", arg, 0);
		break;
	case KEY_SRUN:
		add_srun_option(state, command, arg);
		break;
	case KEY_VERBOSE:
		s->loudness = PLX_VERBOSE;
		break;
	case KEY_QUIET:
		s->loudness = PLX_QUIET;
		break;
	case ARGP_KEY_ARG:
		/* The rest is the program's, options and all. */
		s->program = state->argv + state->next - 1;
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

/* A number that Slurm put into the environment; false when it did not. */
static bool slurm_number(const char *name, uint32_t *value)
{
	const char *text = getenv(name);
	unsigned long read;
	char *end;

	if (!text || !*text)
		return false;
	errno = 0;
	read = strtoul(text, &end, 10);
	if (errno || *end || read > UINT32_MAX)
		return false;
	*value = (uint32_t) read;
	return true;
}

/* Where the scheduler can wake us: which step of the job are we? */
static uint32_t own_step(void)
{
	uint32_t step;

	if (slurm_number("SLURM_STEP_ID", &step))
		return step < HIGHEST_STEP ? step : PLX_WAKE_NONE;
	/* A batch script has a task's number, salloc's shell has none. */
	return getenv("SLURM_PROCID") ? PLX_WAKE_BATCH : PLX_WAKE_NONE;
}

static int make_folder(const struct command *command, char *path, size_t size,
		       struct plx_error *err)
{
	char cwd[2048] = "";
	struct stat st;

	if (!getcwd(cwd, sizeof(cwd)))
		return plx_fail(err, "no working directory: %s",
				strerror(errno));
	if (!command->folder)
		snprintf(path, size, "%s/pollux-%u", cwd,
			 command->settings.job_id);
	else if (command->folder[0] == '/')
		snprintf(path, size, "%s", command->folder);
	else
		snprintf(path, size, "%s/%s", cwd, command->folder);
	if (mkdir(path, 0777) < 0 && errno != EEXIST)
		return plx_fail(err, "cannot make %s: %s", path,
				strerror(errno));
	if (stat(path, &st) < 0 || !S_ISDIR(st.st_mode))
		return plx_fail(err, "%s is not a folder", path);
	return 0;
}

static int launch(struct command *command)
{
	struct plx_launcher *launcher = NULL;
	struct plx_error err;
	char folder[4096];
	int code = EXIT_FAILURE;

	if (make_folder(command, folder, sizeof(folder), &err) < 0)
		goto done;
	command->settings.folder = folder;
	launcher = plx_launcher_create(&command->settings, &err);
	if (!launcher)
		goto done;
	code = plx_launcher_run(launcher);
done:
	if (!launcher)
		fprintf(stderr, "pollux-launch: %s\n", err.text);
	plx_launcher_destroy(launcher);
	return code;
}

int main(int argc, char **argv)
{
	struct command command = {
		.settings = { .mpi = "pmix",
			      .poll_s = 1,
			      .hint_interval_s = 2,
			      .save_timeout_s = 20,
			      .max_restarts = 3,
			      .prewarm = true,
			      .warm_timeout_s = 60,
			      .loudness = PLX_NORMAL },
	};
	struct plx_settings *s = &command.settings;
	uint32_t rank;

	/* Our own far end, started by srun: no command line of a user. */
	if (argc == 2 && !strncmp(argv[1], far_end, strlen(far_end)))
		return plx_relay_run(argv[1] + strlen(far_end));
	argp_err_exit_status = EXIT_USAGE;
	argp_parse(&argp, argc, argv, ARGP_IN_ORDER, NULL, &command);
	/* srun starts a copy for each task; one is enough. */
	if (slurm_number("SLURM_PROCID", &rank) && rank != 0)
		return EXIT_SUCCESS;
	if (!slurm_number("SLURM_JOB_ID", &s->job_id)) {
		fprintf(stderr, "pollux-launch: not inside a Slurm job; start "
				"it with srun, sbatch or salloc\n");
		return EXIT_USAGE;
	}
	s->wake = own_step();
	s->node = getenv("SLURMD_NODENAME");
	s->params = getenv(PLX_ENV_PARAMS);
	s->srun_options = command.srun_options;
	return launch(&command);
}
