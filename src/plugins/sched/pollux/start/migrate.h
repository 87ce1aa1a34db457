/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * migrate.h - a whole job goes elsewhere, its batch script included
 *
 * The node of a batch script cannot be given up in place. The job is asked to
 * save (pollux_migrate_ask()), put back into the queue as by scontrol requeue,
 * and started where it is to be as soon as its nodes have let it go: seconds,
 * not the two minutes that Slurm would wait. It keeps its age in the queue
 * and what was left of its time limit. Until it runs again its record says
 * "moving", from which a slurmctld that was started meanwhile goes on.
 *
 * Where it cannot be started it goes back to where it was, or waits as any
 * job that was requeued, without a delay. Under write locks on jobs and nodes.
 */
#ifndef SCHED_POLLUX_MIGRATE_H
#define SCHED_POLLUX_MIGRATE_H

#include "sched/pollux/snapshot/slurm_snapshot.h"
#include "sched/pollux/job_state.h"
#include "common/slurm_compat.h"

/* Put it back into the queue. -1 with err set: it runs on. */
int pollux_migrate_depart(job_record_t *job, struct pollux_job_state *state,
			  struct plx_error *err);

/* Is something to be done about a job on its way? job NULL: it is gone. */
bool pollux_migrate_due(const job_record_t *job,
			const struct pollux_job_state *state);

/* Do it. True when the queue should be looked at. */
bool pollux_migrate_arrive(job_record_t *job, struct pollux_job_state *state);

/* GPUs that jobs on their way will need are not free. No lock. */
void pollux_migrate_claim(struct pollux_snapshot *snapshot);

#endif
