/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * epilog.h - the epilog on nodes that a running job gives up
 *
 * Such a node is completing, as one where a job has ended, until slurmd says
 * that the job's processes are gone and the epilog is over. Nobody starts
 * there before, and the job does not come back (decision 0067).
 *
 * By the plugin's thread alone.
 */
#ifndef SCHED_POLLUX_EPILOG_H
#define SCHED_POLLUX_EPILOG_H

#include "sched/pollux/resize/gres_alloc.h"

/*
 * The job leaves these nodes of its record and of slurmctld's tables, and the
 * epilog runs there, with the GPUs that it held. job_resrcs is still what it
 * held. WRITE locks on jobs and nodes.
 */
void pollux_epilog_leave(job_record_t *job, const struct pollux_holding *held,
			 bitstr_t *nodes);

/* Does any run? No lock. */
bool pollux_epilog_any(void);

/* Open nodes where it is over; takes the locks. True when one was opened. */
bool pollux_epilog_tick(void);

/* slurmctld begins: it may have ended while some ran. */
void pollux_epilog_load(void);

/* slurmctld has made its tables anew: no flag of a node tells anything. */
void pollux_epilog_check(void);

/* slurmctld ends, or becomes the backup. */
void pollux_epilog_forget_all(void);

#endif
