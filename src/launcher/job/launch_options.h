/* SPDX-License-Identifier: GPL-2.0-or-later */
/* launch_options.h - the command line of pollux-launch */
#ifndef PLX_LAUNCHER_LAUNCH_OPTIONS_H
#define PLX_LAUNCHER_LAUNCH_OPTIONS_H

#include <stdbool.h>

#include "core/base/error.h"
#include "launcher/rules/settings.h"

#define PLX_EXIT_USAGE	   2
#define PLX_LIST_MAX	   32 /* of --srun-option */
#define PLX_LOCAL_NAME_MAX 48 /* of a local job, with its NUL */

/* What is wanted of a launcher that runs already. */
enum plx_launch_request {
	PLX_REQUEST_NONE,
	PLX_REQUEST_RESIZE,
	PLX_REQUEST_STATUS,
	PLX_REQUEST_CHECKPOINT,
	PLX_REQUEST_STOP,
};

struct plx_command {
	struct plx_settings settings; /* as far as the options say */
	const char *folder;	      /* of checkpoints, NULL: default */
	const char *log_folder;	      /* of the ranks' logs, NULL: none */
	bool bind;		      /* ranks to processors */
	double grace_s;		      /* of --on-resize, <0: not given */
	bool local;
	bool rehearse;	    /* by the Python package, of a script of Python's */
	int ranks;	    /* local: to begin with, 0: default */
	const char *name;   /* of the local job, NULL: default */
	const char *params; /* local: as --scheduler-params, NULL: none */
	enum plx_launch_request request;
	int resize;	 /* ranks wanted */
	const char *job; /* local job's name or launcher's process id */
	char *srun_options[PLX_LIST_MAX + 1];
	int srun_count;
};

/* Everything is set. Wrong use ends the process with PLX_EXIT_USAGE. */
void plx_options_read(int argc, char **argv, struct plx_command *command);

/*
 * "auto", "libpollux" or "signal[:NAME]", then "grace=SECONDS" and
 * "exit=CODE" behind commas.
 */
int plx_on_resize_read(const char *text, struct plx_command *command,
		       struct plx_error *err);

#endif
