/* SPDX-License-Identifier: MIT */
/*
 * guard.c - a SIGTERM saves the last commit before it ends us
 *
 * srun and mpirun send it to those that are left when a rank is lost, and
 * everybody gets it before a time limit. The handler only wakes a thread,
 * which saves and then lets the signal do what it does by default. A program
 * that has its own handler before pollux_start(), or sets one later, keeps it
 * and goes without.
 */
#include <config.h>

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "agent/save.h"
#include "agent/store.h"
#include "agent/thread.h"

struct plx_guard {
	pthread_t thread;
	struct pollux *p;
	_Atomic bool stop;
};

/* A handler can know nothing else. One run at a time has the guard. */
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

static void *watch(void *arg)
{
	struct plx_guard *g = arg;
	uint64_t count;

	while (read(wake, &count, sizeof(count)) < 0) {
		if (errno != EINTR)
			return NULL;
	}
	if (g->stop)
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

void plx_guard_begin(struct pollux *p)
{
	struct plx_guard *g;

	if (!p->folder[0] || wake >= 0)
		return;
	g = calloc(1, sizeof(*g));
	if (!g)
		return;
	g->p = p;
	wake = eventfd(0, EFD_CLOEXEC);
	if (wake < 0 || plx_thread_begin(&g->thread, watch, g) < 0) {
		if (wake >= 0)
			close(wake);
		wake = -1;
		free(g);
		return;
	}
	p->store->guard = g;
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
	close(wake);
	wake = -1;
	p->store->guard = NULL;
	free(g);
}
