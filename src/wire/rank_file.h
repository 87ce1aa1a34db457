/* SPDX-License-Identifier: MIT */
/*
 * rank_file.h - what libpollux in any rank tells the launcher, by small files
 *
 * Rank 0 alone has the launcher's socket. These files lie with the notes of
 * pollux-rank, in the inner folder of the checkpoints, which all nodes see:
 *
 *	pulse-G.R  what rank R of generation G does, while no step is committed
 *		   or it holds
 *	error-G	   an error of the program itself, the first rank's to tell
 *	rescued-G  a rank that was left has saved the last commit
 *	ended-G	   a rank has ended its run in the middle of the training
 *	missed-G   ... and another one waits for it
 *
 * Each is one line of fields (core/base/fields.h). A reader trusts none of it.
 */
#ifndef PLX_WIRE_RANK_FILE_H
#define PLX_WIRE_RANK_FILE_H

#include <stdbool.h>
#include <stdint.h>

#include "core/base/error.h"

#define PLX_INNER_FOLDER "/.pollux" /* below the checkpoints' */

enum plx_pulse_at {
	PLX_AT_STEP,	/* it works on a step */
	PLX_AT_WAITING, /* it waits for other ranks */
	PLX_AT_BETWEEN, /* a step is committed, the next one not asked for */
	PLX_AT_BUSY,	/* the program has said so (pollux_beat()) */
	PLX_AT_COUNT,
};

struct plx_pulse {
	int rank;
	enum plx_pulse_at at;
	double since_s;	   /* that it is there */
	double quiet_s;	   /* since it used its processors, or gave a sign */
	double hold_s;	   /* that it holds (pollux_hold()); 0: it does not */
	uint64_t step;	   /* committed */
	unsigned int beat; /* another one with each writing */
	char node[64];
};

/* What the last four hold. */
struct plx_rank_word {
	int rank;
	uint64_t step;
	char why[256]; /* of an error: one line; ended, missed: its node */
};

enum plx_rank_word_kind {
	PLX_WORD_ERROR,
	PLX_WORD_RESCUED,
	PLX_WORD_ENDED,
	PLX_WORD_MISSED,
	PLX_WORDS,
};

/* Best effort: a full disk keeps the launcher in the dark. */
void plx_pulse_write(const char *inner, int generation,
		     const struct plx_pulse *pulse);
void plx_pulse_remove(const char *inner, int generation, int rank);

/* Those of a generation, by rank; *list is the caller's to free. How many. */
int plx_pulse_list(const char *inner, int generation, struct plx_pulse **list);

/* May it take its time, or is a rank late that is there? */
bool plx_pulse_is_busy(const struct plx_pulse *pulse);

/* 1: told, 0: another rank had, -1: it cannot be. */
int plx_rank_word_write(const char *inner, enum plx_rank_word_kind kind,
			int generation, const struct plx_rank_word *word);
bool plx_rank_word_read(const char *inner, enum plx_rank_word_kind kind,
			int generation, struct plx_rank_word *word);

/* Forget all of them of a generation; of all generations (0). */
void plx_rank_files_clear(int dir, int generation);

#endif
