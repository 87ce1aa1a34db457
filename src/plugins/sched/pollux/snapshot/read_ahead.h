/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * read_ahead.h - what is read of jobs before a look, some jobs at a time
 *
 * A queue may have tens of thousands of jobs, of which a hundred are looked at;
 * and what launchers write has to be parsed. That is done ahead, and others may
 * have slurmctld's lock after every two milliseconds. In the look itself all is
 * compared: who was chosen still waits (candidates.h), and what was
 * parsed is still what the record says (comment_cache.h). A job that comes to
 * wait in between is seen by the next look.
 */
#ifndef SCHED_POLLUX_READ_AHEAD_H
#define SCHED_POLLUX_READ_AHEAD_H

#include "sched/pollux/snapshot/waiting.h"

/*
 * Read the texts of elastic jobs that run. Unless the backlog is NULL, offer it
 * the jobs that wait, and fill snapshot->requeued and begins_s. Takes the lock
 * POLLUX_AHEAD, several times. -1: not all was read in 50 ms, and the look has
 * to read who waits itself.
 */
int pollux_read_ahead(struct pollux_snapshot *snapshot,
		      struct plx_backlog *backlog);

/* The jobs that wait, in one piece; preempts: of this look. READ locks. */
void pollux_read_pending(struct pollux_snapshot *snapshot,
			 struct pollux_preempts *preempts,
			 struct plx_backlog *backlog);

#endif
