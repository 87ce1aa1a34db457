/* SPDX-License-Identifier: MIT */
/* thread.h - threads of the library, out of the program's way */
#ifndef PLX_AGENT_THREAD_H
#define PLX_AGENT_THREAD_H

#include <pthread.h>

/*
 * pthread_create(), with all signals blocked: those of the program are for
 * its own threads. 0, or -1 when there can be no more.
 */
int plx_thread_begin(pthread_t *thread, void *(*run)(void *), void *arg);

#endif
