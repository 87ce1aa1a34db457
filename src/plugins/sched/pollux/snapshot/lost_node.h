/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * lost_node.h - jobs that Slurm took a lost node away from
 *
 * Slurm forgets the node's GPUs in what the job has, but not in its request,
 * which has the same counts by place in the job's list of nodes. When it
 * fills its tables again (scontrol reconfigure, a restart) it reads the
 * request: the job's other nodes get GPUs of the lost one, which may be
 * another job's by then.
 */
#ifndef SCHED_POLLUX_LOST_NODE_H
#define SCHED_POLLUX_LOST_NODE_H

#include "common/slurm_compat.h"

/*
 * Before Slurm takes the node off it: the request is never saved with the node.
 * Where Slurm does not tell of that (24.11) it is mended within 0.2 s. WRITE
 * lock on jobs and nodes.
 */
void pollux_lost_node_expect(job_record_t *job, const node_record_t *node);

/* Under a lock on jobs. */
bool pollux_has_lost_node(const job_record_t *job);

/* Its request becomes as what it has. WRITE lock on jobs; job may be NULL. */
void pollux_lost_node_mend(job_record_t *job);

#endif
