/* SPDX-License-Identifier: GPL-2.0-or-later */
/* control.h - requests to a job without Slurm, from another terminal */
#ifndef PLX_LAUNCHER_CONTROL_H
#define PLX_LAUNCHER_CONTROL_H

#include <stddef.h>

#include "core/base/error.h"
#include "launcher/job/launch_options.h"

struct plx_control;

/* Who answers a line, in the thread of the control. */
struct plx_control_asked {
	void (*answer)(void *arg, const char *line, char *answer, size_t size);
	void *arg; /* outlives the control */
};

/*
 * Listen as the job of that name, in a thread of its own. NULL with err set.
 */
struct plx_control *plx_control_create(const char *name,
				       const struct plx_control_asked *asked,
				       struct plx_error *err);
void plx_control_destroy(struct plx_control *control); /* accepts NULL */

/* The other side: do what the command line wants. An exit code. */
int plx_control_request(const struct plx_command *command);

#endif
