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

#endif
