/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * late.h - steps that are begun with what their job had before
 *
 * A step's credential says what its job had when slurmctld made it, and is good
 * for minutes. Slurm writes the control groups of the job by it when the step
 * is begun. A job that kept one back while it gave GPUs up would have them
 * again. So a node notes, before it writes the groups of a job that gives
 * devices up, which number the job's next step will have; no step below is
 * begun there any more. The job's group is locked from that question, or note,
 * until the groups are written.
 *
 * A note is a file of root's, named by the device and inode of the job's
 * control group: where the job is put into the queue, its next run has another
 * group, and counts its steps anew. On a node that has not the job's script
 * there is no group while no step runs, and another one when the next begins;
 * an external step can be ended by its user. There the job's number names a
 * second note. A note counts for as long as a credential from before it may be
 * good, by when Slurm begins the next run.
 *
 * Needs root. Not for threads.
 */
#ifndef SPANK_POLLUX_LATE_H
#define SPANK_POLLUX_LATE_H

#include <stdbool.h>
#include <stdint.h>

#include "core/base/error.h"

#define PLX_LATE_FOLDER "/run/pollux-steps"

/*
 * group: the job's, an open folder. A file in there that nobody but root can
 * open: who can open a file can lock it. -1: there is none.
 */
int plx_late_open_lock(int group);

/*
 * Alone, or with others that begin steps; wait_ms at most. False: somebody else
 * has it. Without a lock: true.
 */
bool plx_late_lock(int lock, bool alone, int wait_ms);
void plx_late_unlock(int lock);

/* A job here. group: see above; -1: it has none. node: of the slurmd. */
struct plx_late_job {
	uint32_t id;
	const char *node;
	int group;
};

struct plx_late_note {
	uint32_t next; /* steps below are late from now on */
	int good_s;    /* for so long */
	bool lasts;    /* the group stays for the job's whole run */
};

/*
 * PLX_ENV_NOTE, into good_s and lasts; NULL: slurmctld is older. -1: not such a
 * text.
 */
int plx_late_parse(const char *text, const char *node,
		   struct plx_late_note *note);

/*
 * A larger number that was noted before, and counts, stays. folder: made, if
 * need be. Notes of an hour ago that count no more go. -1 with err set: it is
 * not noted.
 */
int plx_late_note(const char *folder, const struct plx_late_job *job,
		  const struct plx_late_note *note, struct plx_error *err);

bool plx_late_is(const char *folder, const struct plx_late_job *job,
		 uint32_t step, bool component);

/*
 * Is this the slurmstepd of a component of a heterogeneous job? A user can have
 * any number for such a step, and slurmctld does not count it. It is in the
 * name of the socket by which slurmd finds slurmstepd, in all releases; in
 * slurmstepd's title until 25.11.
 */
bool plx_late_component(void);

/* A socket's path: "/spool/n1_5.7.0", of job 5, and not "/spool/n1_5.7". */
bool plx_late_names_component(const char *path);

#endif
