/* SPDX-License-Identifier: GPL-2.0-or-later */
/* control.h - requests to a job without Slurm, from another terminal */
#ifndef PLX_LAUNCHER_CONTROL_H
#define PLX_LAUNCHER_CONTROL_H

#include "core/error.h"
#include "launcher/local.h"
#include "launcher/options.h"

struct plx_control;

/* Listen, in a thread of its own, and have local answer. NULL with err set. */
struct plx_control *plx_control_create(struct plx_local *local,
				       struct plx_error *err);
void plx_control_destroy(struct plx_control *control); /* accepts NULL */

/* The other side: do what the command line wants. An exit code. */
int plx_control_request(const struct plx_command *command);

#endif
