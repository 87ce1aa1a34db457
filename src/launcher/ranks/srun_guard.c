/* SPDX-License-Identifier: GPL-2.0-or-later */
/* srun_guard.c - stands between the launcher and srun, to outlive the launcher
 */
#include "config.h"

#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "launcher/ranks/srun_guard.h"

#define ORPHANED SIGUSR1 /* our parent is gone, or somebody is joking */
#define AGAIN_S	 10	 /* from SIGTERM to SIGKILL */

/* Only what is safe after a fork in a program with threads is done here. */

static void become_ordinary(pid_t guard, const sigset_t *taken)
{
	for (int i = 1; i < NSIG; i++) {
		if (sigismember(taken, i))
			signal(i, SIG_DFL);
	}
	signal(SIGPIPE, SIG_DFL);
	signal(SIGURG, SIG_DFL);
	sigprocmask(SIG_UNBLOCK, taken, NULL);
	/* Whoever kills the guard means srun. */
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != guard)
		_exit(1);
}

static void reap(pid_t child)
{
	int status;

	if (waitpid(child, &status, WNOHANG) != child)
		return;
	_exit(WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status));
}

/* A terminal's signals reach srun by themselves. */
static void stand(pid_t launcher, pid_t child, const sigset_t *taken,
		  int grace_s)
{
	struct timespec wait = { .tv_sec = grace_s };
	bool orphan = false;
	bool told = false;

	for (;;) {
		int got = orphan ? sigtimedwait(taken, NULL, &wait)
				 : sigwaitinfo(taken, NULL);

		reap(child);
		if (got == ORPHANED && getppid() != launcher)
			orphan = true;
		else if (got == SIGTERM)
			kill(child, SIGTERM);
		else if (got == PLX_GUARD_KILL)
			kill(child, SIGKILL);
		if (got >= 0 || errno != EAGAIN)
			continue;
		kill(child, told ? SIGKILL : SIGTERM);
		told = true;
		wait.tv_sec = AGAIN_S;
	}
}

void plx_guarded(pid_t launcher, int grace_s)
{
	static const int signals[] = { SIGCHLD, SIGTERM,  SIGINT,	 SIGHUP,
				       SIGURG,	ORPHANED, PLX_GUARD_KILL };
	pid_t guard = getpid();
	sigset_t taken;
	pid_t child;

	sigemptyset(&taken);
	for (size_t i = 0; i < sizeof(signals) / sizeof(signals[0]); i++)
		sigaddset(&taken, signals[i]);
	sigprocmask(SIG_BLOCK, &taken, NULL);
	prctl(PR_SET_PDEATHSIG, ORPHANED);
	if (getppid() != launcher)
		_exit(1);
	child = fork();
	if (child < 0)
		_exit(1);
	if (child == 0) {
		become_ordinary(guard, &taken);
		return;
	}
	prctl(PR_SET_NAME, "pollux-guard");
	/* The ranks' socket above all: they must see it close. */
	close_range(0, ~0U, 0);
	stand(launcher, child, &taken, grace_s);
}
