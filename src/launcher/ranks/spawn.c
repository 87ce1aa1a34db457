/* SPDX-License-Identifier: GPL-2.0-or-later */
/* spawn.c - what each child of the launcher does before it becomes srun */

#include <signal.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "launcher/ranks/spawn.h"

void plx_spawned(pid_t parent)
{
	static const int signals[] = { SIGINT,	SIGTERM, SIGHUP,
				       SIGPIPE, SIGCHLD, SIGURG };
	sigset_t none;

	for (size_t i = 0; i < sizeof(signals) / sizeof(signals[0]); i++)
		signal(signals[i], SIG_DFL);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	prctl(PR_SET_PDEATHSIG, SIGTERM);
	if (getppid() != parent)
		_exit(1);
}
