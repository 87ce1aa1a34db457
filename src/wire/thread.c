/* SPDX-License-Identifier: MIT */
/* thread.c - threads that leave signals to the main one */
#include <config.h>

#include <signal.h>
#include <stddef.h>

#include "wire/thread.h"

int plx_thread_begin(pthread_t *thread, void *(*run)(void *), void *arg)
{
	sigset_t all;
	sigset_t old;
	int code;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	code = pthread_create(thread, NULL, run, arg);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	return code ? -1 : 0;
}
