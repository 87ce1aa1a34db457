/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * environ.h - the environment of the inner srun
 *
 * Slurm tells a job its shape in SLURM_* variables, and srun believes them as
 * if they were options. After a resize they are wrong, so none is passed on
 * but those that say where slurmctld is or are a user's taste. The same for
 * what PMIx and the device plugins set for the launcher itself.
 */
#ifndef PLX_LAUNCHER_ENVIRON_H
#define PLX_LAUNCHER_ENVIRON_H

#include <stdbool.h>

#include "core/base/error.h"

/* A list of "NAME=value", NULL at its end. Owner: plx_environ_release(). */
struct plx_environ {
	char **vars;
	int count;
};

/* May the inner srun see this variable ("NAME=value")? */
bool plx_environ_passes(const char *var);

/* A copy of outer, without what may not pass. */
int plx_environ_init(struct plx_environ *env, char *const *outer,
		     struct plx_error *err);

/* Set or replace a variable. */
int plx_environ_set(struct plx_environ *env, const char *name,
		    const char *value, struct plx_error *err);

void plx_environ_release(struct plx_environ *env);

#endif
