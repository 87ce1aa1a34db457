/* SPDX-License-Identifier: GPL-2.0-or-later */
/* step.c - one start of the training: an srun and its ranks */
#include "config.h"

#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "launcher/clock.h"
#include "launcher/environ.h"
#include "launcher/peer.h"
#include "launcher/spawn.h"
#include "launcher/step.h"
#include "wire/env.h"

#define PATH_SIZE 256
#define TEXT(n)	  #n
#define NUMBER(n) TEXT(n)

/* A command line being put together in one block. */
struct line {
	char **args;
	int count;
	char *text;
	size_t room;
	bool full; /* something did not fit */
};

static void add(struct line *line, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

static void add(struct line *line, const char *fmt, ...)
{
	va_list ap;
	int size;

	va_start(ap, fmt);
	size = vsnprintf(line->text, line->room, fmt, ap);
	va_end(ap);
	if (size < 0 || (size_t) size >= line->room) {
		line->full = true;
		return;
	}
	line->args[line->count++] = line->text;
	line->args[line->count] = NULL;
	line->text += size + 1;
	line->room -= (size_t) size + 1;
}

static int count(char *const *list)
{
	int n = 0;

	while (list && list[n])
		n++;
	return n;
}

char **plx_step_arguments(const struct plx_step_order *order,
			  const struct plx_step *step)
{
	const struct plx_layout *layout = &step->layout;
	int options = count(order->srun_options);
	int program = count(order->program);
	size_t list =
		(size_t) (PLX_STEP_ARGS + options + program) * sizeof(char *);
	size_t room = PLX_STEP_ARGS * PATH_SIZE;
	char **args = calloc(1, list + room);
	struct line line = { .args = args, .room = room };

	if (!args)
		return NULL;
	line.text = (char *) args + list;
	add(&line, "srun");
	add(&line, "--jobid=%u", order->job_id);
	add(&line, "--job-name=%s", step->name);
	add(&line, "--overlap");
	add(&line, "--overcommit");
	add(&line, "--export=ALL");
	add(&line, "--kill-on-bad-exit=1");
	add(&line, "--mpi=%s", order->mpi);
	add(&line, "--ntasks=%d", layout->ranks);
	add(&line, "--nodes=%d", layout->count);
	add(&line, "--cpus-per-task=%d", plx_layout_cpus_per_rank(layout));
	add(&line, "--distribution=arbitrary");
	if (layout->gpus)
		add(&line, "--gpus-per-task=1");
	for (int i = 0; i < options; i++)
		args[line.count++] = order->srun_options[i];
	for (int i = 0; i < program; i++)
		args[line.count++] = order->program[i];
	args[line.count] = NULL;
	if (line.full) {
		free(args);
		return NULL;
	}
	return args;
}

static int write_hosts(const struct plx_layout *layout, const char *path,
		       struct plx_error *err)
{
	FILE *out = fopen(path, "we");
	bool bad;

	if (!out)
		return plx_fail(err, "cannot write %s: %s", path,
				strerror(errno));
	plx_layout_write_hosts(layout, out);
	bad = ferror(out);
	if (fclose(out) != 0 || bad)
		return plx_fail(err, "cannot write %s", path);
	return 0;
}

static int set_number(struct plx_environ *env, const char *name, uint64_t value,
		      struct plx_error *err)
{
	char text[24];

	snprintf(text, sizeof(text), "%" PRIu64, value);
	return plx_environ_set(env, name, text, err);
}

static int prepare_environ(struct plx_environ *env,
			   const struct plx_step_order *order,
			   const char *hosts, int number, struct plx_error *err)
{
	const struct {
		const char *name;
		const char *value;
	} vars[] = {
		{ "SLURM_HOSTFILE", hosts },
		{ "SLURM_EXIT_ERROR", NUMBER(PLX_SRUN_FAILED) },
		{ PLX_ENV_SOCKET, order->socket },
		{ PLX_ENV_CHECKPOINTS, order->folder },
		{ PLX_ENV_PARAMS, order->params },
	};

	if (plx_environ_init(env, environ, err) < 0)
		return -1;
	for (size_t i = 0; i < sizeof(vars) / sizeof(vars[0]); i++) {
		if (vars[i].value &&
		    plx_environ_set(env, vars[i].name, vars[i].value, err) < 0)
			return -1;
	}
	if (order->warm && plx_environ_set(env, PLX_ENV_WARM, "1", err) < 0)
		return -1;
	if (set_number(env, PLX_ENV_STARTS, (uint64_t) number, err) < 0 ||
	    set_number(env, PLX_ENV_JOB, order->job_id, err) < 0)
		return -1;
	return set_number(env, PLX_ENV_GENERATION, order->generation, err);
}

static void become_srun(char **args, char **vars, pid_t parent)
{
	plx_spawned(parent);
	execvpe("srun", args, vars);
	dprintf(STDERR_FILENO, "pollux-launch: cannot run srun: %s\n",
		strerror(errno));
	_exit(127);
}

int plx_step_start(struct plx_step *step, const struct plx_step_order *order,
		   const struct plx_layout *layout, struct plx_error *err)
{
	struct plx_environ env = { 0 };
	char **args = NULL;
	char hosts[PATH_SIZE];
	pid_t parent = getpid();
	int rc = -1;

	step->kills = 0;
	snprintf(step->name, sizeof(step->name), "pollux.%d", step->number);
	snprintf(hosts, sizeof(hosts), "%s/" PLX_PEER_HOSTS, order->dir);
	if (plx_layout_copy(&step->layout, layout, err) < 0 ||
	    write_hosts(layout, hosts, err) < 0 ||
	    prepare_environ(&env, order, hosts, step->number, err) < 0)
		goto done;
	args = plx_step_arguments(order, step);
	if (!args) {
		plx_fail(err,
			 "srun's command line is too long, or memory is out");
		goto done;
	}
	step->started_s = plx_now_s();
	step->pid = fork();
	if (step->pid == 0)
		become_srun(args, env.vars, parent);
	if (step->pid < 0) {
		step->pid = 0;
		plx_fail(err, "cannot fork: %s", strerror(errno));
		goto done;
	}
	rc = 0;
done:
	free(args);
	plx_environ_release(&env);
	return rc;
}

bool plx_step_kill(struct plx_step *step)
{
	if (step->pid)
		kill(step->pid, step->kills ? SIGKILL : SIGTERM);
	return step->kills++ > 0;
}

bool plx_step_reap(struct plx_step *step, int *code)
{
	pid_t pid = 0;
	int status;

	if (step->pid)
		pid = waitpid(step->pid, &status, WNOHANG);
	if (pid != step->pid || !pid)
		return false;
	*code = WIFEXITED(status) ? WEXITSTATUS(status)
				  : 128 + WTERMSIG(status);
	step->pid = 0;
	step->ended_s = plx_now_s();
	return true;
}

void plx_step_release(struct plx_step *step)
{
	plx_layout_release(&step->layout);
}
