/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * steps.h - steps that ended without slurmctld's knowing
 *
 * A slurmctld that was killed comes back with the state it saved last: steps
 * that have ended since are running again, and nobody will ever report their
 * end. A job with such a step could not be resized any more. What no node
 * knows of when all its nodes have registered is ended here.
 *
 * The same for a step whose last node was lost, when the others had reported
 * its end before: Slurm 22.05 leaves it in its list for ever.
 *
 * All under slurmctld's WRITE locks on jobs and nodes.
 */
#ifndef SCHED_POLLUX_STEPS_H
#define SCHED_POLLUX_STEPS_H

#include "common/slurm_compat.h"

/* slurmctld was just started from a saved state; no node has registered. */
void pollux_steps_started(void);

/* Has the job a step that may be gone? A read lock will do. */
bool pollux_steps_due(const job_record_t *job);

/* End its steps that are not there any more; job may be NULL. */
void pollux_steps_mend(job_record_t *job);

#endif
