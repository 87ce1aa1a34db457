/* SPDX-License-Identifier: GPL-2.0-or-later */
/* run_folder.h - where a job without Slurm can be found by its name */
#ifndef PLX_LAUNCHER_RUN_FOLDER_H
#define PLX_LAUNCHER_RUN_FOLDER_H

#include <stdbool.h>

#include "core/base/error.h"

#define PLX_RUN_PATH 96 /* of its socket: UNIX sockets allow 107 */

/* Letters, digits, '.', '_' and '-', and short enough for a path? */
bool plx_run_name_ok(const char *name);

/*
 * Hold NAME's folder, made if needed: the descriptor of its lock. -1 with err
 * set; *taken: because another launcher has it.
 */
int plx_run_take(const char *name, bool *taken, struct plx_error *err);

/* Forget it; closes the lock. */
void plx_run_forget(const char *name, int lock);

/* The socket of a job, whether it lives or not. */
int plx_run_socket(const char *name, char path[PLX_RUN_PATH],
		   struct plx_error *err);

/*
 * The socket of the living job that is called so, or whose launcher has this
 * process id. -1: there is none, and err lists those that live.
 */
int plx_run_find(const char *job, char path[PLX_RUN_PATH],
		 struct plx_error *err);

#endif
