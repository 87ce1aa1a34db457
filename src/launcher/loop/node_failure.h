/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * node_failure.h - a node that is gone without a word: go on without it
 *
 * Slurm knows after SlurmdTimeout, minutes. Here a node is lost when two things
 * come together: the ranks make no step for unusually long (hang.h), and the
 * node does not answer (silence.h) while others, or slurmctld, do. If nobody
 * does, it may be our own network: then nothing is done.
 *
 * The ranks that are left save what they have, and the next ones are started
 * on the job's other nodes at once. slurmctld need not know: a lost node is
 * left out of every shape of the job until it answers again.
 */
#ifndef PLX_LAUNCHER_NODE_FAILURE_H
#define PLX_LAUNCHER_NODE_FAILURE_H

#include <stdbool.h>
#include <stdint.h>

#include "core/base/error.h"
#include "launcher/rules/layout.h"

struct plx_generation;
struct plx_launcher;
struct plx_silence;

struct plx_lost {
	struct plx_silence *silence; /* NULL: nothing of this is done */
	struct plx_layout gone;	     /* names of lost nodes */
	double gone_s;		     /* since the first of them */
	uint64_t learned;	     /* generation whose nodes are known */
	uint64_t ended;		     /* that was ended for a lost node */
	char step[64];		     /* its step's name */
	double suspect_s; /* ranks are silent, we ask since; 0: not so */
	double heard_s;	  /* slurmctld has answered since; 0: not yet */
	double beat_s;	  /* their last one then */
	double next_s;	  /* no question before */
	double back_s;	  /* next look whether lost ones are back */
	double kill_s;	  /* when srun goes, for rank 0 has left; 0: not yet */
	bool asks_gone;	  /* the question is whether lost ones are back */
	int answers;	  /* of all of these, in a row */
	uint64_t unverified; /* generation that ended with 0: asked for */
};

int plx_lost_init(struct plx_lost *lost, struct plx_error *err);
void plx_lost_release(struct plx_lost *lost);

/* Was this generation, which ended or is to, given up for a lost node? */
static inline bool plx_lost_ended(const struct plx_lost *lost,
				  uint64_t generation)
{
	return lost->ended && lost->ended == generation;
}

/*
 * Where all ranks were on nodes that Slurm has lost, srun leaves with exit code
 * 0. True: slurmctld is asked whether the job has those nodes still, and the
 * step is not to be reaped yet; ask again when it has answered, or after some
 * seconds.
 */
bool plx_lost_unverified(struct plx_launcher *l, const struct plx_generation *g,
			 int code);

/*
 * The exit code of the ranks that trained: 137, as if killed, where they were
 * lost so. Then plx_lost_ended() is true of them.
 */
int plx_lost_code(struct plx_launcher *l, int code);

/* Ask whether nodes answer, if it is time to; see old ranks off. */
void plx_lost_watch(struct plx_launcher *l);

/* When at the latest; INFINITY: no need. */
double plx_lost_due_s(const struct plx_launcher *l);

int plx_lost_fd(const struct plx_launcher *l); /* readable: they answered */
void plx_lost_news(struct plx_launcher *l);

#endif
