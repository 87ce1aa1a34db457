/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * rank_watch.h - one rank's program, from its start to its end
 *
 * Signals that reach a whole step (from slurmstepd or mpirun, our parent)
 * reach the program by themselves; what is sent to this process alone is
 * passed on. SIGURG is for this process: have the program save and leave.
 */
#ifndef PLX_LAUNCHER_RANK_WATCH_H
#define PLX_LAUNCHER_RANK_WATCH_H

#include <signal.h>
#include <stdbool.h>

#include "core/base/error.h"
#include "launcher/rank/rank_place.h"
#include "launcher/rank/rank_tee.h"

/* What the launcher wants; texts are borrowed. */
struct plx_rank_order {
	const char *notes;	/* folder, NULL: leave none */
	const char *log_folder; /* NULL: no logs */
	int stop_signal;	/* that makes the program save, 0: none */
	int saved_code;		/* exit code: saved, start me again; 0: none */
	int generation;
	char **program; /* and its arguments, NULL-terminated */
};

struct plx_run_page;

struct plx_rank {
	const struct plx_rank_order *order;
	struct plx_place place;
	pid_t pid;    /* of the program, 0: gone */
	pid_t parent; /* of this process */
	int signals;  /* descriptor they come from */
	int parent_fd;
	int log;	/* -1: none */
	bool asked;	/* to have the program save */
	bool sent;	/* it knows */
	bool ready;	/* the launcher knows that it can be told */
	bool ended;	/* somebody wanted the end: nobody is to blame */
	double look_s;	/* next look for a handler */
	double pause_s; /* between looks */
	double kill_s;	/* the parent is gone: its time is up, 0: not so */
	int status;	/* of waitpid() */
	struct plx_run_page *page; /* of its run, NULL: none */
	struct plx_tail tail;
	struct plx_tee tees[2];
};

/* Start the program: *rank is set up whole, order borrowed. */
int plx_rank_start(struct plx_rank *rank, const struct plx_rank_order *order,
		   const struct plx_place *place, struct plx_error *err);

/* See it through. The exit code for srun. */
int plx_rank_watch(struct plx_rank *rank);

#endif
