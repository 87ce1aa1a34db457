/* SPDX-License-Identifier: GPL-2.0-or-later */
/* main.c - pollux-launch: its place in a job, or without one */
#include "config.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/base/error.h"
#include "core/records/status.h"
#include "launcher/job/control.h"
#include "launcher/job/job_seen.h"
#include "launcher/loop/launcher.h"
#include "launcher/job/local.h"
#include "launcher/job/launch_options.h"
#include "launcher/ranks/relay.h"
#include "launcher/ranks/rank_wrapper.h"
#include "launcher/loop/folder_lock.h"
#include "launcher/ranks/torchrun.h"
#include "wire/dir.h"
#include "wire/env.h"

#define REHEARSE_MAX 1024	 /* words of a command line */
#define NUMBERS_MAX  99		 /* of folders after the same program */
#define HIGHEST_STEP 0xfffffff0U /* above: batch, interactive, extern */

static const char far_end[] = "--" PLX_RELAY_OPTION;

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

/* As given, or ./pollux-KEY. Made if needed; absolute. */
static int make_folder(const char *given, const char *key, char path[PATH_MAX],
		       struct plx_error *err)
{
	char cwd[PATH_MAX / 2] = "";
	int dir;

	if (!getcwd(cwd, sizeof(cwd)))
		return plx_fail(err, "no working directory: %s",
				strerror(errno));
	if (!given)
		snprintf(path, PATH_MAX, "%s/pollux-%s", cwd, key);
	else if (given[0] == '/')
		snprintf(path, PATH_MAX, "%s", given);
	else
		snprintf(path, PATH_MAX, "%s/%s", cwd, given);
	dir = plx_dir_make(path, err);
	if (dir < 0)
		return -1;
	close(dir);
	return 0;
}

/* The checkpoints' folder is named after key by default. */
static int run(struct plx_command *command, const char *key, const char *job,
	       int *code, struct plx_error *err)
{
	struct plx_launcher *launcher = NULL;
	struct plx_rank_wrapper wrapper;
	char folder[PATH_MAX];

	if (make_folder(command->folder, key, folder, err) < 0 ||
	    plx_rank_wrapper_init(&wrapper, command, folder, err) < 0)
		return -1;
	command->settings.folder = folder;
	command->settings.notes = wrapper.notes;
	command->settings.wrapper = wrapper.args;
	launcher = plx_launcher_create(&command->settings, err);
	if (!launcher)
		return -1;
	if (command->local && command->settings.loudness > PLX_QUIET)
		fprintf(stderr,
			"pollux-launch: job %s; pollux-launch --job=%s "
			"--resize=N changes its size; its folder is %s\n",
			job, job, folder);
	*code = plx_launcher_run(launcher);
	plx_launcher_destroy(launcher);
	return 0;
}

static int run_in_job(struct plx_command *command, int *code,
		      struct plx_error *err)
{
	struct plx_settings *s = &command->settings;
	char key[16];

	if (!slurm_number("SLURM_JOB_ID", &s->job_id)) {
		*code = PLX_EXIT_USAGE;
		return plx_fail(err,
				"not inside a Slurm job; start it with srun, "
				"sbatch or salloc, or with --local on this "
				"machine alone");
	}
	if (!plx_job_slurm)
		return plx_fail(err, "this pollux-launch was built without "
				     "libslurm: only --local works");
	s->wake = own_step();
	s->node = getenv("SLURMD_NODENAME");
	s->params = getenv(PLX_ENV_PARAMS);
	snprintf(key, sizeof(key), "%u", s->job_id);
	return run(command, key, key, code, err);
}

/* Is there an mpirun to be run? */
static bool has_mpirun(void)
{
	const char *path = getenv("PATH");
	char file[PATH_MAX];

	while (path && *path) {
		size_t length = strcspn(path, ":");

		snprintf(file, sizeof(file), "%.*s/mpirun", (int) length, path);
		if (access(file, X_OK) == 0)
			return true;
		path += length;
		path += *path == ':';
	}
	return false;
}

/*
 * What ./pollux-KEY is called after: base, and a number only where a launcher
 * that lives has that folder. Jobs of one name in different places keep theirs.
 */
static void free_folder(const struct plx_command *command, const char *base,
			char *key, size_t size)
{
	char path[PLX_LOCAL_NAME_MAX + 16];

	snprintf(key, size, "%s", base);
	for (int i = 2; i <= NUMBERS_MAX && !command->folder; i++) {
		snprintf(path, sizeof(path), "pollux-%s", key);
		if (!plx_folder_lock_is_held(path))
			return;
		snprintf(key, size, "%.32s-%d", base, i);
	}
}

static int run_here(struct plx_command *command, int *code,
		    struct plx_error *err)
{
	struct plx_settings *s = &command->settings;
	const struct plx_local_order order = { .name = command->name,
					       .program = s->program,
					       .params = command->params,
					       .ranks = command->ranks };
	struct plx_local *local = NULL;
	char key[PLX_LOCAL_NAME_MAX];
	int rc;

	if (!has_mpirun())
		return plx_fail(err, "there is no mpirun in PATH; install Open "
				     "MPI (Debian: openmpi-bin)");
	local = plx_local_create(&order, err);
	if (!local)
		return -1;
	s->job_id = (uint32_t) getpid();
	s->wake = PLX_WAKE_NONE;
	s->node = plx_local_node(local);
	s->relay = PLX_RELAY_NEVER;
	s->params = plx_local_params(local);
	s->devices = plx_local_devices(local);
	s->registry = plx_local_registry(local);
	free_folder(command, plx_local_base(local), key, sizeof(key));
	rc = run(command, key, plx_local_name(local), code, err);
	plx_local_destroy(local);
	return rc;
}

/* The Python of the script has the package that does it. Not to return. */
static int rehearse(char *const program[], struct plx_error *err)
{
	const char *slash = strrchr(program[0], '/');
	char *args[REHEARSE_MAX] = { program[0], (char *) "-m",
				     (char *) "pollux.rehearse" };
	int n = 3;

	if (strncmp(slash ? slash + 1 : program[0], "python", 6) != 0)
		return plx_fail(err, "--rehearse is for scripts of Python: "
				     "pollux-launch --local --rehearse python3 "
				     "train.py");
	for (int i = 0; program[i]; i++) {
		if (n == REHEARSE_MAX - 1)
			return plx_fail(err, "--rehearse: more than %d words",
					REHEARSE_MAX - 4);
		args[n++] = program[i];
	}
	execvp(args[0], args);
	return plx_fail(err, "cannot run %.100s: %s", args[0], strerror(errno));
}

static int leave_out_torchrun(struct plx_settings *s, char ***plain,
			      struct plx_error *err)
{
	if (plx_torchrun_leave_out(s->program, plain, err) < 0)
		return -1;
	if (!*plain)
		return 0;
	s->program = *plain;
	if (s->loudness == PLX_QUIET)
		return 0;
	fprintf(stderr, "pollux-launch: leave torchrun out, pollux-launch "
			"starts the ranks, one a GPU: running");
	for (char **word = *plain; *word; word++)
		fprintf(stderr, " %s", *word);
	fputc('\n', stderr);
	return 0;
}

int main(int argc, char **argv)
{
	int code = EXIT_FAILURE;
	struct plx_command command;
	struct plx_error err;
	char **plain = NULL;
	uint32_t rank;
	int rc = -1;

	/* Our own far end, started by srun: no command line of a user. */
	if (argc == 2 && !strcmp(argv[1], far_end))
		return plx_relay_run();
	plx_options_read(argc, argv, &command);
	if (command.request)
		return plx_control_request(&command);
	/* srun starts a copy for each task; one is enough. */
	if (slurm_number("SLURM_PROCID", &rank) && rank != 0)
		return EXIT_SUCCESS;
	if (leave_out_torchrun(&command.settings, &plain, &err) < 0)
		goto done;
	if (command.rehearse && rehearse(command.settings.program, &err) < 0)
		goto done;
	rc = command.local ? run_here(&command, &code, &err)
			   : run_in_job(&command, &code, &err);
done:
	free(plain);
	if (rc < 0)
		fprintf(stderr, "pollux-launch: %s\n", err.text);
	return code;
}
