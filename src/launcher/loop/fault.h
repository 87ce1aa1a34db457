/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * fault.h - ranks that failed or hang: what follows (docs/faults.md)
 *
 * The rules are in backoff.h and hang.h; here they meet the launcher.
 */
#ifndef PLX_LAUNCHER_FAULT_H
#define PLX_LAUNCHER_FAULT_H

#include <stdbool.h>
#include <stdint.h>

#include "launcher/rules/backoff.h"
#include "launcher/rules/hang.h"

struct plx_launcher;

struct plx_faults {
	struct plx_backoff backoff;
	struct plx_hang hang;
	uint64_t watched; /* number of the generation that this is about */
	double watched_s; /* last look for hanging ranks */
	double note_s;	  /* next look for a note of one that is gone */
	double excused_s; /* a rank is busy: they do not hang before */
	double lost_s;	  /* since when a rank is known to be gone, 0: none */
	double kill_s;	  /* when to end them harder, 0: they train */
	bool speaks;	  /* the program has libpollux */
	double usr1_s;	  /* when we got a SIGUSR1 last, 0: never */
	int srun;	  /* times in a row that srun could start no ranks */
};

/*
 * May ranks that ended with this code be started again? Says so if not. Ranks
 * that a SIGUSR1 killed which was sent to us, too, have not failed: scancel
 * sends it to all of a step, and who sent it wants a checkpoint.
 */
bool plx_fault_may_restart(struct plx_launcher *l, int code);

/*
 * Did a rank say that it ended by an error of the program itself? Says so: the
 * same would come of another start.
 */
bool plx_fault_is_programs(const struct plx_launcher *l, int code);

/*
 * srun's exit code, but PLX_SRUN_FAILED where slurmd refused all its tasks.
 * srun of 22.05 may leave with 0 then, that of 24.11 leaves with 1.
 */
int plx_fault_code(const struct plx_launcher *l, int code);

/* How long to wait before that. */
double plx_fault_wait_s(const struct plx_launcher *l);

/* The ranks that train: have met, have committed a step. */
void plx_fault_hello(struct plx_launcher *l);
void plx_fault_beat(struct plx_launcher *l, uint64_t step);
/* ... or have been busy with something else until now. */
void plx_fault_busy(struct plx_launcher *l);

/*
 * When the ranks are silent for longer than they were wont to be, if nothing
 * is heard until then; INFINITY: none is awaited. Not yet a fault, see hang.h.
 */
double plx_fault_silent_s(const struct plx_launcher *l);

/* When to look again at the latest; INFINITY: no need. */
double plx_fault_due_s(const struct plx_launcher *l);

/* End the ranks that train: those that are left save first. */
void plx_fault_end(struct plx_launcher *l);

/* End ranks that hang, and those that wait for one that is gone. */
void plx_fault_watch(struct plx_launcher *l);

#endif
