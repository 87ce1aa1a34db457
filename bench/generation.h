/* SPDX-License-Identifier: MIT */
/*
 * generation.h - one start of the ranks, as seen by who plays the launcher
 *
 * A failure of any of this ends the program with a sentence.
 */
#ifndef PLX_BENCH_GENERATION_H
#define PLX_BENCH_GENERATION_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "wire/channel.h"

/* One start of the ranks. */
struct generation {
	uint64_t number;
	int ranks;
	pid_t pid;
	int listener;
	char path[256];
	struct plx_channel *channel;
};

/* What all starts have in common. */
struct play {
	const char *dir; /* of the sockets */
	char **command;	 /* what the ranks run */
};

_Noreturn void fail(const char *what, const char *why);

double now_s(void);

void set_number(const char *name, uint64_t number); /* in the environment */

/* warm: started ahead of its turn. */
void start(struct generation *g, const struct play *play, bool warm);

/* Wait until the ranks have left: their exit code; killed: 128 and more. */
int end(struct generation *g);
void kill_all(struct generation *g);

void say(struct generation *g, const char *line);

/* Wait until rank 0 says this word; its fields are copied. When it came. */
double hear(struct generation *g, const char *word, char fields[PLX_LINE_MAX]);

/* A number among the fields, 0 when absent. */
double field(const char *fields, const char *key);

#endif
