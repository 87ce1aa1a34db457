/* SPDX-License-Identifier: GPL-2.0-or-later */
/* srun_step.c - one start of the training: an srun (or mpirun) and its ranks */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "launcher/job/address.h"
#include "launcher/rules/clock.h"
#include "launcher/ranks/environ.h"
#include "launcher/ranks/srun_guard.h"
#include "launcher/ranks/peer.h"
#include "launcher/rank/port.h"
#include "launcher/ranks/spawn.h"
#include "launcher/ranks/step_line.h"
#include "wire/env.h"

#define PATH_SIZE 256
#define GUARD_S	  20 /* for ranks to leave when we are gone */
#define TEXT(n)	  #n
#define NUMBER(n) TEXT(n)

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

struct variable {
	const char *name;
	const char *value; /* NULL: not set */
};

static int set_texts(struct plx_environ *env, const struct variable *vars,
		     size_t count, struct plx_error *err)
{
	for (size_t i = 0; i < count; i++) {
		if (vars[i].value &&
		    plx_environ_set(env, vars[i].name, vars[i].value, err) < 0)
			return -1;
	}
	return 0;
}

/* What all ranks of torchrun's have alike; pollux-rank sets the rest. */
static int set_meeting(struct plx_environ *env,
		       const struct plx_step_order *order,
		       const struct plx_launch_step *step,
		       struct plx_error *err)
{
	const struct plx_layout *layout = &step->layout;
	char address[PLX_NODE_NAME_SIZE] = "127.0.0.1";
	const struct {
		const char *name;
		uint64_t value;
	} numbers[] = {
		{ "MASTER_PORT", (uint64_t) plx_port_draw() },
		{ "TORCHELASTIC_RUN_ID", order->job_id },
		{ "TORCHELASTIC_RESTART_COUNT", (uint64_t) step->number },
		{ "TORCHELASTIC_MAX_RESTARTS", (uint64_t) order->max_restarts },
		{ PLX_ENV_STARTS, (uint64_t) step->number },
		{ PLX_ENV_JOB, order->job_id },
		{ PLX_ENV_GENERATION, order->generation },
	};

	if (!order->local && layout->count > 0)
		plx_address_of(layout->nodes[0].name, address, sizeof(address));
	for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++) {
		if (set_number(env, numbers[i].name, numbers[i].value, err) < 0)
			return -1;
	}
	return plx_environ_set(env, "MASTER_ADDR", address, err);
}

/* The first GPUs of this machine, one a rank. */
static int set_devices(struct plx_environ *env,
		       const struct plx_step_order *order,
		       const struct plx_layout *layout, struct plx_error *err)
{
	const char *end = order->devices;
	char list[PLX_GRES_SIZE];

	if (!order->local || !end)
		return 0;
	for (int i = 0; i < layout->ranks && *end; i++) {
		end += *end == ',';
		end += strcspn(end, ",");
	}
	snprintf(list, sizeof(list), "%.*s", (int) (end - order->devices),
		 order->devices);
	return plx_environ_set(env, "CUDA_VISIBLE_DEVICES", list, err);
}

static int prepare_environ(struct plx_environ *env,
			   const struct plx_step_order *order,
			   const struct plx_launch_step *step,
			   const char *hosts, struct plx_error *err)
{
	const struct plx_layout *layout = &step->layout;
	const struct variable vars[] = {
		/* Whoever asks which ranks share a node goes by it. */
		{ "SLURMD_NODENAME", order->local && layout->count
					     ? layout->nodes[0].name
					     : NULL },
		{ "SLURM_HOSTFILE", order->local ? NULL : hosts },
		{ "SLURM_EXIT_ERROR",
		  order->local ? NULL : NUMBER(PLX_SRUN_FAILED) },
		/* As mpirun --quiet, which Open MPI 5 does not know. */
		{ "OMPI_MCA_orte_execute_quiet", order->local ? "1" : NULL },
		{ PLX_ENV_GPU_TYPE, layout->count && layout->nodes[0].type[0]
					    ? layout->nodes[0].type
					    : NULL },
		{ PLX_ENV_SOCKET, order->socket },
		{ PLX_ENV_CHECKPOINTS, order->folder },
		{ PLX_ENV_PARAMS, order->params },
		{ PLX_ENV_WARM, order->warm ? "1" : NULL },
		{ PLX_ENV_KEY, order->key },
	};

	if (plx_environ_init(env, environ, err) < 0 ||
	    set_texts(env, vars, sizeof(vars) / sizeof(vars[0]), err) < 0 ||
	    set_meeting(env, order, step, err) < 0)
		return -1;
	return set_devices(env, order, layout, err);
}

/*
 * mpirun kills its ranks on the SIGINT of a terminal, before they have saved:
 * it is in a group of its own, and so must not read the terminal.
 */
static void leave_terminal(void)
{
	int null = open("/dev/null", O_RDONLY);

	setpgid(0, 0);
	if (isatty(STDIN_FILENO) && null >= 0)
		dup2(null, STDIN_FILENO);
	if (null > STDERR_FILENO)
		close(null);
}

static void become_starter(const struct plx_step_order *order, char **args,
			   char **vars, pid_t parent)
{
	if (order->local) {
		plx_spawned(parent);
		leave_terminal();
	} else {
		plx_guarded(parent, GUARD_S);
	}
	for (int i = 0; order->output && i < 2; i++) {
		if (order->output[i] >= 0)
			dup2(order->output[i], STDOUT_FILENO + i);
	}
	execvpe(args[0], args, vars);
	dprintf(STDERR_FILENO, "pollux-launch: cannot run %s: %s\n", args[0],
		strerror(errno));
	_exit(127);
}

int plx_step_start(struct plx_launch_step *step,
		   const struct plx_step_order *order,
		   const struct plx_layout *layout, struct plx_error *err)
{
	struct plx_environ env = { 0 };
	char **args = NULL;
	char hosts[PATH_SIZE];
	pid_t parent = getpid();
	int rc = -1;

	step->kills = 0;
	step->ended_s = 0;
	step->killer = order->local ? SIGKILL : PLX_GUARD_KILL;
	step->generation = order->generation;
	snprintf(step->name, sizeof(step->name), "pollux.%d", step->number);
	snprintf(hosts, sizeof(hosts), "%s/" PLX_PEER_HOSTS, order->dir);
	if (plx_layout_copy(&step->layout, layout, err) < 0 ||
	    write_hosts(layout, hosts, err) < 0 ||
	    prepare_environ(&env, order, step, hosts, err) < 0)
		goto done;
	args = plx_step_arguments(order, step);
	if (!args) {
		plx_fail(err, "the command line is too long, or memory is out");
		goto done;
	}
	step->started_s = plx_now_s();
	step->pid = fork();
	if (step->pid == 0)
		become_starter(order, args, env.vars, parent);
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

bool plx_step_kill(struct plx_launch_step *step)
{
	int signal = step->kills ? step->killer : SIGTERM;

	if (step->pid)
		kill(step->pid, step->kills > 1 ? SIGKILL : signal);
	return step->kills++ > 0;
}

bool plx_step_ended(struct plx_launch_step *step, int *code)
{
	siginfo_t how = { 0 };

	if (!step->pid || waitid(P_PID, (id_t) step->pid, &how,
				 WEXITED | WNOHANG | WNOWAIT) < 0)
		return false;
	if (how.si_pid != step->pid)
		return false;
	if (!step->ended_s)
		step->ended_s = plx_now_s();
	*code = how.si_code == CLD_EXITED ? how.si_status : 128 + how.si_status;
	return true;
}

void plx_step_reap(struct plx_launch_step *step)
{
	waitpid(step->pid, NULL, 0);
	step->pid = 0;
}

void plx_step_release(struct plx_launch_step *step)
{
	plx_layout_release(&step->layout);
}
