/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * rank_tee.h - a rank's output on its way: passed on, logged, remembered
 *
 * Whole lines are passed on in one piece, so that those of several ranks do
 * not mix; a line without an end is passed on when it is long or old enough.
 * Nothing is dropped: who cannot write does not read, and the program waits.
 */
#ifndef PLX_LAUNCHER_RANK_TEE_H
#define PLX_LAUNCHER_RANK_TEE_H

#include <poll.h>
#include <stdbool.h>
#include <stddef.h>

#include "launcher/rank/rank_notes.h"

#define PLX_TEE_SIZE  4096 /* a pipe takes as much without waiting */
#define PLX_TAIL_LINE (PLX_EXIT_TEXT / PLX_EXIT_LINES - 1)

/* The last lines of a rank. */
struct plx_tail {
	char line[PLX_EXIT_LINES][PLX_TAIL_LINE + 1];
	int count;   /* begun so far, the last one may go on */
	size_t used; /* of the last one */
	bool ended;  /* it has its newline */
};

struct plx_tee {
	int from; /* the program's end, -1: closed */
	int to;	  /* our own stdout or stderr, -1: broken */
	struct plx_tail *tail;
	size_t used;
	size_t ready;	/* of them to be passed on now */
	double since_s; /* the rest has waited */
	char data[PLX_TEE_SIZE];
};

/* What to wait for; a tee that is done waits for nothing. */
void plx_tee_wants(const struct plx_tee *tee, struct pollfd *wait);

/* Read or write as poll() allows. What is passed on goes to log, too. */
void plx_tee_poll(struct plx_tee *tee, const struct pollfd *wait, int *log,
		  double now_s);

/* Seconds until an unfinished line is to be passed on; <0: there is none. */
double plx_tee_patience(const struct plx_tee *tee, double now_s);

/* The program is gone: pass on all there is, wait for nobody else. */
void plx_tee_drain(struct plx_tee *tee, int *log);

void plx_tail_add(struct plx_tail *tail, const char *data, size_t size);

/* All lines, oldest first, each with a newline. */
void plx_tail_text(const struct plx_tail *tail, char text[PLX_EXIT_TEXT]);

#endif
