/* SPDX-License-Identifier: MIT */
/* env.h - environment variables that launcher and agent share */
#ifndef PLX_WIRE_ENV_H
#define PLX_WIRE_ENV_H

/* Path of the launcher's socket; absent: the program runs alone. */
#define PLX_ENV_SOCKET "POLLUX_SOCKET"
/* Folder of the job's checkpoints; exists. */
#define PLX_ENV_CHECKPOINTS "POLLUX_CHECKPOINT_DIR"
/* --scheduler-params as given by the user. */
#define PLX_ENV_PARAMS "POLLUX_PARAMS"
/* How many times the ranks were started before, 0 at first. */
#define PLX_ENV_STARTS "POLLUX_STARTS"
/* Number of this start, from 1, over the job's whole life. */
#define PLX_ENV_GENERATION "POLLUX_GENERATION"
/* Types of rank 0's GPUs (core/records/gpu_type.h); absent: not known. */
#define PLX_ENV_GPU_TYPE "POLLUX_GPU_TYPE"
/* Set: started ahead of its turn, to wait in pollux_start(). */
#define PLX_ENV_WARM "POLLUX_WARM"
/* Key of the job, for names in a node's memory. */
#define PLX_ENV_JOB "POLLUX_JOB"
/*
 * Of a step that slurmctld launches where a job gives up GPUs: the steps that
 * run there as "NEXT:ID,ID", or "NEXT:*"; those below NEXT and not named do
 * not.
 */
#define PLX_ENV_CONSTRAIN "POLLUX_CONSTRAIN"
/*
 * Of the same step: for how many seconds a credential is good, and the node
 * where the job's control group stays for its whole run, "120 n1"; "-": there
 * is none.
 */
#define PLX_ENV_NOTE "POLLUX_NOTE"
/* Numbers of these steps: far from those that Slurm counts up to. */
#define PLX_CONSTRAIN_FIRST 0x40000000u
#define PLX_CONSTRAIN_COUNT 0x3fffffffu
/* torchrun's: number of this rank; pollux-rank sets it for all. */
#define PLX_ENV_RANK "RANK"
/* Where this rank's pollux-rank looks for its run (wire/run_page.h). */
#define PLX_ENV_PAGE "POLLUX_RUN_PAGE"
/* Namespaces in which pollux-rank has started the rank (wire/namespaces.h). */
#define PLX_ENV_NAMESPACES "POLLUX_NAMESPACES"
/* The run's key (wire/secret.h), the same for all its starts. */
#define PLX_ENV_KEY "POLLUX_KEY"

#endif
