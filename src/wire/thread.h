/* SPDX-License-Identifier: MIT */
/* thread.h - threads that leave signals to the main one */
#ifndef PLX_WIRE_THREAD_H
#define PLX_WIRE_THREAD_H

#include <pthread.h>

/*
 * pthread_create(), with all signals blocked: those of the program are for
 * its own threads. 0, or -1 when there can be no more.
 */
int plx_thread_begin(pthread_t *thread, void *(*run)(void *), void *arg);

#endif
