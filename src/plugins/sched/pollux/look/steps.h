/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * steps.h - steps that ended without slurmctld's knowing
 *
 * A slurmctld that was killed comes back with the state it saved last: steps
 * that have ended since are running again, and nobody will ever report their
 * end. A job with such a step could not be resized any more. What no node
 * knows of when all its nodes have registered is ended here.
 *
 * All under slurmctld's WRITE locks on jobs and nodes.
 */
#ifndef SCHED_POLLUX_STEPS_H
#define SCHED_POLLUX_STEPS_H

/* slurmctld was just started from a saved state; no node has registered. */
void pollux_steps_started(void);

/* End steps that are not there any more; every few seconds. */
void pollux_steps_mend(void);

#endif
