/* SPDX-License-Identifier: MIT */
/*
 * sigterm.c - a SIGTERM saves the last commit before it ends us
 *
 * srun and mpirun send it to those that are left when a rank is lost, and
 * everybody gets it before a time limit. The handler only wakes a thread,
 * which saves and then lets the signal do what it does by default. A program
 * that has its own handler before pollux_start(), or sets one later, keeps it
 * and goes without.
 *
 * A SIGUSR1 asks the launcher for a checkpoint. Slurm sends it to whatever runs
 * in the job, and it would kill us: it is ignored where nobody handles it.
 *
 * The thread also looks whether this rank still waits for others when its time
 * is over: when the launcher (rank 0 sees it) is gone for long, or the folder
 * of checkpoints is a later generation's. Slurm may have lost sight of us, and
 * nobody is there to say so.
 */
#include <config.h>

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "agent/state/rescue.h"
#include "agent/state/sigterm.h"
#include "agent/state/store.h"
#include "wire/env.h"
#include "wire/thread.h"

/* Between looks. Healthy ranks save and leave after their step meanwhile. */
#define LOOK_MS 30000
/* A rank whose time is over leaves its collective meanwhile, where it can. */
#define LEAVE_MS 5000

struct plx_guard {
	pthread_t thread;
	struct pollux *p;
	int launcher; /* its socket, to see it close; -1: none */
	bool deaf;    /* SIGUSR1 is ignored by us */
	_Atomic bool stop;
};

/* One run at a time has the guard, whichever threads begin theirs at once. */
static atomic_flag taken = ATOMIC_FLAG_INIT;

/* A handler can know nothing else. */
static volatile sig_atomic_t told; /* a SIGTERM came */
static volatile int wake = -1;	   /* an eventfd; -1: no guard */
static volatile pid_t owner;

static void on_term(int sig)
{
	const uint64_t one = 1;
	int saved = errno;

	if (getpid() != owner) {
		/* A child that was forked and has not called exec(). */
		signal(sig, SIG_DFL);
		raise(sig);
		return;
	}
	told = 1;
	if (write(wake, &one, sizeof(one)) < 0)
		signal(sig, SIG_DFL); /* the next one will do */
	errno = saved;
}

static void die(void)
{
	sigset_t term;

	signal(SIGTERM, SIG_DFL);
	sigemptyset(&term);
	sigaddset(&term, SIGTERM);
	pthread_sigmask(SIG_UNBLOCK, &term, NULL);
	raise(SIGTERM);
}

/* Nobody wants this generation's work any more. */
static bool is_over(const struct plx_guard *g, bool launcher_gone)
{
	return g->p->stage == PLX_STAGE_PASS &&
	       (launcher_gone || plx_fence_passed(&g->p->store->fence));
}

/* Until we are woken. False when that can never be. */
static bool wait_for_wake(struct plx_guard *g)
{
	struct pollfd fds[2] = {
		{ .fd = wake, .events = POLLIN },
		{ .fd = g->launcher, .events = POLLRDHUP },
	};
	bool gone = false;
	bool over = false;

	for (;;) {
		int ready = poll(fds, 2, over ? LEAVE_MS : LOOK_MS);

		if (ready < 0 && errno != EINTR)
			return false;
		if (ready > 0 && fds[0].revents)
			return true;
		/* Open MPI has it stand still (coll_mpi.h). */
		if (ready == 0 && over)
			return true;
		if (ready == 0 && is_over(g, gone))
			told = over = true; /* collectives end */
		if (ready > 0) {
			gone = true;
			fds[1].fd = -1;
		}
	}
}

static void *watch(void *arg)
{
	struct plx_guard *g = arg;

	if (!wait_for_wake(g) || g->stop)
		return NULL;
	(void) plx_rescue(g->p);
	die();
	return NULL;
}

static int take_signal(void)
{
	const struct sigaction ours = {
		.sa_handler = on_term,
		.sa_flags = SA_RESTART,
	};
	struct sigaction now;

	if (sigaction(SIGTERM, NULL, &now) < 0 || now.sa_handler != SIG_DFL)
		return -1;
	owner = getpid();
	told = 0;
	return sigaction(SIGTERM, &ours, NULL);
}

static void give_signal_back(void)
{
	struct sigaction now;

	if (sigaction(SIGTERM, NULL, &now) == 0 && now.sa_handler == on_term)
		signal(SIGTERM, SIG_DFL);
}

/* Of a program on its own SIGUSR1 is nobody's business. */
static void ignore_usr1(struct plx_guard *g)
{
	struct sigaction now;

	g->deaf = getenv(PLX_ENV_SOCKET) &&
		  sigaction(SIGUSR1, NULL, &now) == 0 &&
		  now.sa_handler == SIG_DFL &&
		  signal(SIGUSR1, SIG_IGN) != SIG_ERR;
}

static void heed_usr1(const struct plx_guard *g)
{
	struct sigaction now;

	if (g->deaf && sigaction(SIGUSR1, NULL, &now) == 0 &&
	    now.sa_handler == SIG_IGN)
		signal(SIGUSR1, SIG_DFL);
}

static void release(struct plx_guard *g)
{
	heed_usr1(g);
	if (wake >= 0)
		close(wake);
	wake = -1;
	if (g->launcher >= 0)
		close(g->launcher);
	free(g);
	atomic_flag_clear(&taken);
}

void plx_guard_begin(struct pollux *p)
{
	struct plx_guard *g;

	if (!p->folder[0] || atomic_flag_test_and_set(&taken))
		return;
	g = calloc(1, sizeof(*g));
	if (!g) {
		atomic_flag_clear(&taken);
		return;
	}
	g->p = p;
	/* Our own, for the reporter closes its one when it sees the end. */
	g->launcher = fcntl(plx_reporter_fd(p->reporter), F_DUPFD_CLOEXEC, 0);
	wake = eventfd(0, EFD_CLOEXEC);
	if (wake < 0 || plx_thread_begin(&g->thread, watch, g) < 0) {
		release(g);
		return;
	}
	p->store->guard = g;
	ignore_usr1(g);
	/* Whoever has a handler of his own knows better. */
	if (take_signal() < 0)
		plx_guard_end(p);
	else
		p->coll->leaving = &told;
}

void plx_guard_end(struct pollux *p)
{
	struct plx_guard *g = p->store->guard;
	const uint64_t one = 1;

	if (!g)
		return;
	give_signal_back();
	if (p->coll)
		p->coll->leaving = NULL;
	g->stop = true;
	while (write(wake, &one, sizeof(one)) < 0 && errno == EINTR)
		;
	pthread_join(g->thread, NULL);
	p->store->guard = NULL;
	release(g);
}
