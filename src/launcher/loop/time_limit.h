/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * time_limit.h - the job's state is saved before its time limit
 *
 * slurmctld says when the job ends. Some time before, rank 0 is told to save
 * and to train on: a save at the limit itself has KillWait to be done. A job
 * that is to go on from the queue (at-limit=requeue) is asked to stop by the
 * scheduler, to which we say how long before; we save only if it does not.
 */
#ifndef PLX_LAUNCHER_TIME_LIMIT_H
#define PLX_LAUNCHER_TIME_LIMIT_H

#include <stdbool.h>

struct plx_launcher;

struct plx_limit {
	double ends_s;	/* the job does, by our clock; 0: no limit */
	double whole_s; /* its limit */
	double save_s;	/* the longest save so far */
	double saved_s; /* the end for which it was saved; 0: none */
	bool requeues;	/* the scheduler puts it back into the queue */
	bool reached;	/* it ends for that */
};

/* What the user asked for. */
void plx_limit_init(struct plx_launcher *l);

/* The job's record, as last seen, may tell of another end. */
void plx_limit_note(struct plx_launcher *l);

/* Fields of "saved" or "kept": how long it took. */
void plx_limit_learn(struct plx_launcher *l, const char *fields);

/* When to save at the latest; INFINITY: never. */
double plx_limit_due_s(const struct plx_launcher *l);

/* Save, if it is time to. */
void plx_limit_watch(struct plx_launcher *l);

/* A signal to end has come: because of the limit? */
void plx_limit_signal(struct plx_launcher *l);

#endif
