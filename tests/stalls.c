/* SPDX-License-Identifier: MIT */
/*
 * stalls.c - a SPANK plugin beside ours, on nodes
 *
 * Of a step with POLLUX_TEST_STALL=FILE: slurmstepd makes FILE.there, and waits
 * while FILE is there, before it writes control groups. Of one by which
 * slurmctld tells nodes what a job gives up: it fails where the file is that
 * the plugin's argument names.
 */
#include <fcntl.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

#include <slurm/spank.h>

#include "wire/env.h"

SPANK_PLUGIN(stalls, 1)

int slurm_spank_init_post_opt(spank_t spank, int ac, char **av)
{
	const struct timespec pause = { .tv_nsec = 20000000 };
	char file[PATH_MAX];
	char there[PATH_MAX + 8];

	(void) ac;
	(void) av;
	if (spank_context() != S_CTX_REMOTE ||
	    spank_getenv(spank, "POLLUX_TEST_STALL", file, sizeof(file)) !=
		    ESPANK_SUCCESS)
		return ESPANK_SUCCESS;
	snprintf(there, sizeof(there), "%s.there", file);
	(void) close(open(there, O_CREAT | O_WRONLY | O_CLOEXEC, 0600));
	while (access(file, F_OK) == 0)
		nanosleep(&pause, NULL);
	return ESPANK_SUCCESS;
}

int slurm_spank_user_init(spank_t spank, int ac, char **av)
{
	char text[1024];

	return ac > 0 && access(av[0], F_OK) == 0 &&
			       spank_getenv(spank, PLX_ENV_CONSTRAIN, text,
					    sizeof(text)) == ESPANK_SUCCESS
		       ? -1
		       : ESPANK_SUCCESS;
}
