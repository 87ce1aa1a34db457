/* SPDX-License-Identifier: GPL-2.0-or-later */
/* shim.h - the command line of pollux-rank, which starts each rank */
#ifndef PLX_LAUNCHER_SHIM_H
#define PLX_LAUNCHER_SHIM_H

#include <limits.h>

#include "launcher/options.h"

#define PLX_SHIM_ARGS 16

struct plx_shim {
	char program[PATH_MAX]; /* pollux-rank */
	char notes[PATH_MAX];
	char logs[PATH_MAX]; /* "": none */
	char signal[16];
	char code[16];
	char *args[PLX_SHIM_ARGS + 1]; /* NULL-terminated */
};

/*
 * Find pollux-rank, make the folders of its notes and logs, and write its
 * command line: shim->args points into shim. folder: of checkpoints, absolute.
 */
int plx_shim_init(struct plx_shim *shim, const struct plx_command *command,
		  const char *folder, struct plx_error *err);

#endif
