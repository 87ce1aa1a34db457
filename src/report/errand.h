/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * errand.h - a question asked by a thread, so that keys are heard meanwhile
 *
 * One question at a time. The thread is never waited for: it may hang as long
 * as Slurm does, and it ends with the program.
 */
#ifndef PLX_REPORT_ERRAND_H
#define PLX_REPORT_ERRAND_H

#include <stdbool.h>
#include <stddef.h>

struct plx_errand;

/* Runs in the thread: the answer to `ask`. */
typedef void (*plx_errand_run)(const void *ask, void *answer);

/*
 * ask_size and answer_size: bytes of what run() is given; both are copied. It
 * lives until the program ends. NULL: no memory, or no thread.
 */
struct plx_errand *plx_errand_create(plx_errand_run run, size_t ask_size,
				     size_t answer_size);

/* Readable when an answer is there. */
int plx_errand_fd(const struct plx_errand *errand);

/* Go and ask. False: it is still out with another question. */
bool plx_errand_send(struct plx_errand *errand, const void *ask);

/* Take the answer; false: there is none. */
bool plx_errand_take(struct plx_errand *errand, void *answer);

#endif
