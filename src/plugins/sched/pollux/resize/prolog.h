/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * prolog.h - the prolog on nodes that a running job gains
 *
 * Slurm runs it on all nodes at once, when a job starts or first uses one.
 * A node gained later gets it right away, whatever PrologFlags say, and the
 * job is told of its new shape only when it has ended. Where it fails, slurmd
 * drains the node as ever, and the job gives the node up again.
 */
#ifndef SCHED_POLLUX_PROLOG_H
#define SCHED_POLLUX_PROLOG_H

#include "common/slurm_compat.h"
#include "sched/pollux/job_shape.h"
#include "sched/pollux/job_state.h"

/*
 * Around a resize, under its locks: remember what the job has; then start the
 * prolog on the nodes that it has gained. True when one has to be waited for.
 */
void pollux_prolog_before(const job_record_t *job,
			  struct pollux_job_state *state);
bool pollux_prolog_after(job_record_t *job, struct pollux_job_state *state);

enum pollux_prolog {
	POLLUX_PROLOG_RUNS,
	POLLUX_PROLOG_AGAIN, /* pollux_prolog_again() is due */
	POLLUX_PROLOG_ENDED,
	POLLUX_PROLOG_FAILED, /* on one node at least */
};

/* How far they are. READ lock on jobs and nodes; by the thread alone. */
enum pollux_prolog pollux_prolog_look(const job_record_t *job,
				      struct pollux_job_state *state);

/* Start it again where it was started. WRITE lock on jobs. */
void pollux_prolog_again(job_record_t *job, struct pollux_job_state *state);

/* Where it failed, as "n[2-3]"; the caller's to xfree(). */
char *pollux_prolog_failed(const struct pollux_job_state *state);

/*
 * Back to what it had before, or else to what is left without the nodes on
 * which it failed. As pollux_resize().
 */
int pollux_prolog_undo(job_record_t *job, const struct pollux_job_state *state,
		       struct plx_error *err);

#endif
