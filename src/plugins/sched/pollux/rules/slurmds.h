/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * slurmds.h - nodes whose slurmd is older, or not heard yet
 *
 * Older ones are there while Slurm is upgraded node by node.
 * A node's packages bring its slurmd and its srun. In a job, an srun cannot
 * start a step on an older slurmd; an older srun can on a newer one. Compared
 * are the numbers of Slurm's protocol, which another fix of the same release
 * does not change.
 * Nodes that are down, drained, asleep or booting are never older: what was
 * heard of them last is of another time, and a drained one can be left. All
 * under READ locks on job and node.
 */
#ifndef SCHED_POLLUX_SLURMDS_H
#define SCHED_POLLUX_SLURMDS_H

#include <stdlib.h>
#include <string.h>

#include "common/slurm_compat.h"

/* Slurm's own, where AuthInfo says nothing, or less than five. */
#define POLLUX_CRED_EXPIRE_S 120

/* slurmctld has begun, or taken over: its nodes may be silent for a while. */
void pollux_slurmds_begin(void);

/* That is two minutes ago: no node is awaited any more. */
bool pollux_slurmds_settled(void);

/* Has it registered since slurmctld was started? */
bool pollux_slurmds_registered(const node_record_t *node);

/* It has not registered, or does not answer. */
bool pollux_slurmds_unheard(const node_record_t *node);

/*
 * It has not registered since slurmctld began, which has not settled. Slurm
 * calls nodes with jobs MIXED or ALLOCATED meanwhile, but gives nothing of
 * them.
 */
bool pollux_slurmds_awaited(const node_record_t *node);

/* For how many seconds they take a credential: AuthInfo=cred_expire. */
static inline int pollux_slurmds_credential_s(void)
{
	const char *text = slurm_conf.authinfo;
	const char *expire = text ? strstr(text, "cred_expire=") : NULL;
	int seconds = expire ? atoi(expire + strlen("cred_expire=")) : 0;

	return seconds > 4 ? seconds : POLLUX_CRED_EXPIRE_S;
}

/* Are there slurmds of several releases? */
bool pollux_slurmds_differ(void);

/*
 * The protocol that the job's srun speaks, which is that of the node of its
 * script; 0: not known.
 */
uint16_t pollux_slurmds_spoken(const job_record_t *job);

/* Clear nodes with an older slurmd than the node of the job's script has. */
void pollux_slurmds_filter(const job_record_t *job, bitstr_t *nodes);

/* Has one of the job's own nodes such a slurmd? */
bool pollux_slurmds_older(const job_record_t *job);

/* The newest protocol, up to `most`, in which all these nodes can be asked. */
uint16_t pollux_slurmds_protocol(bitstr_t *nodes, uint16_t most);

#endif
