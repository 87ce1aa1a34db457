/* SPDX-License-Identifier: GPL-2.0-or-later */
/* rank_wrapper.h - the command line of pollux-rank, which starts each rank */
#ifndef PLX_LAUNCHER_RANK_WRAPPER_H
#define PLX_LAUNCHER_RANK_WRAPPER_H

#include <limits.h>

#include "launcher/job/launch_options.h"

#define PLX_RANK_WRAPPER_ARGS 16

struct plx_rank_wrapper {
	char program[PATH_MAX]; /* pollux-rank */
	char notes[PATH_MAX];
	char logs[PATH_MAX]; /* "": none */
	char signal[16];
	char code[16];
	char *args[PLX_RANK_WRAPPER_ARGS + 1]; /* NULL-terminated */
};

/*
 * Find pollux-rank, make the folders of its notes and logs, and write its
 * command line: wrapper->args points into wrapper. folder: of checkpoints,
 * absolute.
 */
int plx_rank_wrapper_init(struct plx_rank_wrapper *wrapper,
			  const struct plx_command *command, const char *folder,
			  struct plx_error *err);

#endif
