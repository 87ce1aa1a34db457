/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * rank_notes.h - what pollux-rank and pollux-launch tell each other
 *
 * Notes are small files in a folder that all nodes see: the checkpoints' own
 * .pollux. Each belongs to one generation and is written once, by whoever is
 * first.
 *
 *	began-G	 a rank of generation G can be told to save
 *	stop-G	 its ranks are to be told (written by the launcher)
 *	saved-G	 they have saved and want to be started again
 *	here-G.N a rank of it runs on node N
 *	exit-G	 one was killed by a signal		(struct plx_exit)
 *	fail-G	 one ended with a code that is not 0	(struct plx_exit)
 *
 * libpollux leaves others there itself (wire/rank_file.h).
 */
#ifndef PLX_LAUNCHER_RANK_NOTES_H
#define PLX_LAUNCHER_RANK_NOTES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/error.h"
#include "wire/rank_file.h"

#define PLX_NOTES_FOLDER PLX_INNER_FOLDER
#define PLX_EXIT_LINES	 20
#define PLX_EXIT_TEXT	 8192 /* of those lines */

enum plx_note {
	PLX_NOTE_BEGAN,
	PLX_NOTE_STOP,
	PLX_NOTE_SAVED,
	PLX_NOTE_HERE, /* plx_here_write() alone */
	PLX_NOTE_EXIT,
	PLX_NOTE_FAIL,
	PLX_NOTES,
};

/* Of a rank that left in the middle of its run, with exit code 0. */
#define PLX_EXIT_LEFT 1

/* How a rank ended. */
struct plx_exit {
	int rank;
	char node[256];
	int code;		   /* of the program, 0 when killed */
	int signal;		   /* that killed it, 0: none */
	bool left;		   /* its run was under way, after ... */
	uint64_t step;		   /* ... this step; and */
	bool destroyed;		   /* it has ended it, others wait for it */
	char lines[PLX_EXIT_TEXT]; /* its last ones, each with its newline */
};

/* Make the folder. */
int plx_notes_make(const char *folder, struct plx_error *err);

/* Write one; text may be NULL. One that is there already is no failure. */
int plx_note_write(const char *folder, enum plx_note note, int generation,
		   const char *text, struct plx_error *err);
bool plx_note_is(const char *folder, enum plx_note note, int generation);

/* A rank has reported from that node; has one? */
void plx_here_write(const char *folder, int generation, const char *node);
/* Can such notes be left there? Where they cannot, a missing one says nothing.
 */
bool plx_here_works(const char *folder);
bool plx_here_is(const char *folder, int generation, const char *node);

/* Forget all notes of a generation; of all of them (0). */
void plx_notes_clear(const char *folder, int generation);

int plx_exit_write(const char *folder, int generation,
		   const struct plx_exit *how, struct plx_error *err);

/*
 * Who failed first: killed by a signal goes before an exit code, since the
 * ranks that only lost their neighbour end with one; one that another has
 * waited for in vain goes before both. False: nobody did.
 */
bool plx_exit_read(const char *folder, int generation, struct plx_exit *how);

/* As a shell has it: 128 and the signal for a rank that was killed. */
int plx_exit_code(const struct plx_exit *how);

/* "rank 3 on n2 was killed by signal 9 (Killed)", and after which step */
void plx_exit_say(const struct plx_exit *how, char *text, size_t size);

#endif
