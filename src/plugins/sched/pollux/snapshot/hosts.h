/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * hosts.h - jobs whose batch script is not where slurmctld looks for it
 *
 * Only a job that grew is such a job, and slurmctld does not expect it:
 * whenever it rebuilds its tables it takes the first node for the batch host,
 * and when the batch host registers it ends the job as lost unless the first
 * node has registered a short while ago. All that is put right here.
 *
 * And a slurmctld that was killed may come back with jobs that run, though
 * their scripts have ended: it had not yet saved that they were requeued, or
 * nobody could tell it. Their nodes are had to register once more.
 *
 * From 24.11 on a job of several nodes goes on upon the others when it loses
 * the node of its script. An elastic one can do nothing without that: it is put
 * back into the queue, as on 22.05 (_node_fails()).
 */
#ifndef SCHED_POLLUX_HOSTS_H
#define SCHED_POLLUX_HOSTS_H

#include <stdbool.h>

#include "common/slurm_compat.h"

/*
 * Name the right batch hosts and keep such jobs from being thought lost;
 * end those whose script really is gone. Under slurmctld's WRITE locks on
 * jobs and nodes; at least every POLLUX_HOSTS_S seconds for those that are
 * due. job may be NULL.
 */
void pollux_hosts_mend(job_record_t *job);
void pollux_hosts_mend_all(void);

/* Is it such a job, or one with a wrong name? A read lock will do. */
bool pollux_hosts_due(const job_record_t *job);

/*
 * slurmctld was just started from a saved state, and no node has registered
 * yet: which scripts still run is to be seen. Same locks.
 */
void pollux_hosts_started(void);

/*
 * From now on, or no longer, an elastic job whose script's node fails is put
 * back into the queue, though it has other nodes (22.05).
 */
void pollux_hosts_watch(void);
void pollux_hosts_unwatch(void);

/*
 * REQUEST_PING or REQUEST_NODE_REGISTRATION_STATUS. Slurm calls nodes that do
 * not answer NOT_RESPONDING. Any lock on nodes, of which there is one at least.
 */
void pollux_hosts_ask(bitstr_t *nodes, slurm_msg_type_t message);

/* Less than the 20 s after which slurmctld may think a job lost. */
#define POLLUX_HOSTS_S 5

#endif
