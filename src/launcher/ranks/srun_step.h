/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * srun_step.h - one start of the training: an srun (or mpirun) and its ranks
 *
 * libslurm has no call to create a step, so srun is run, with the ranks'
 * places in a host file and an environment free of the job's stale shape.
 */
#ifndef PLX_LAUNCHER_SRUN_STEP_H
#define PLX_LAUNCHER_SRUN_STEP_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "core/base/error.h"
#include "launcher/rules/layout.h"

/* What srun itself returns when it cannot start the step. */
#define PLX_SRUN_FAILED 250

struct plx_launch_step {
	pid_t pid;		  /* of srun's guard; 0: no step */
	int number;		  /* of this start, from 0 */
	uint64_t generation;	  /* as its ranks know it */
	int kills;		  /* how often it was killed */
	int killer;		  /* signal that makes pid kill srun */
	char name[64];		  /* of the step, unique in the job */
	struct plx_layout layout; /* where its ranks are */
	double started_s;	  /* CLOCK_MONOTONIC */
	double ended_s;		  /* srun is gone */
};

/* What every start has in common. All borrowed. */
struct plx_step_order {
	uint32_t job_id;
	const char *dir;	   /* private, for the host file */
	const char *socket;	   /* for the ranks, NULL: none */
	uint64_t generation;	   /* number of this start, 0: none */
	bool warm;		   /* ahead of its turn: wait for "go" */
	const char *spared;	   /* nodes without ranks; NULL, "": none */
	const char *folder;	   /* of checkpoints */
	const char *params;	   /* --scheduler-params, NULL: not elastic */
	const char *key;	   /* of the run (wire/secret.h), NULL: none */
	char *const *wrapper;	   /* starts each rank's program, NULL: none */
	int max_restarts;	   /* told to the program */
	bool local;		   /* on this machine, by mpirun */
	const char *devices;	   /* local: "0,1"; "": none wanted */
	const int *output;	   /* their stdout, stderr; NULL, -1: ours */
	const char *mpi;	   /* srun --mpi= */
	char *const *srun_options; /* more of them, NULL-terminated */
	char *const *program;	   /* and its arguments, NULL-terminated */
};

/* Start ranks on layout (copied) as number; *step was released before. */
int plx_step_start(struct plx_launch_step *step,
		   const struct plx_step_order *order,
		   const struct plx_layout *layout, struct plx_error *err);

/*
 * Kill it, harder each time: first srun is told, which kills the ranks; then
 * srun itself. True from the second time on: slurmctld must kill the step.
 * Do it again after so many seconds:
 */
#define PLX_KILL_AGAIN_S 5.0
bool plx_step_kill(struct plx_launch_step *step);

/* Has srun ended? Then its exit code as a shell has it. */
bool plx_step_ended(struct plx_launch_step *step, int *code);
/* It has ended: no step is left. */
void plx_step_reap(struct plx_launch_step *step);

void plx_step_release(struct plx_launch_step *step);

#endif
