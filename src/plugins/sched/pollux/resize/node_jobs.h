/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * node_jobs.h - which jobs are on a node
 *
 * Slurm can tell that of no node without going over all jobs, which takes a
 * tenth of a millisecond where there are some thousands. So who was found on a
 * node last is remembered, and who has been given it by a resize since. Each of
 * these is asked for its nodes again, and they are believed where they are as
 * many as slurmctld counts there. Used by the plugin's thread alone.
 */
#ifndef SCHED_POLLUX_NODE_JOBS_H
#define SCHED_POLLUX_NODE_JOBS_H

#include "common/slurm_compat.h"

/*
 * Ids of the jobs that run on the node, are suspended or complete there, but
 * for this one. READ lock on jobs and nodes. *count of them, xmalloc'd, for the
 * caller to free; NULL: none.
 */
uint32_t *pollux_node_jobs(const node_record_t *node, uint32_t but_for,
			   int *count);

/* The job has been given the node. */
void pollux_node_jobs_add(const node_record_t *node, uint32_t job_id);

void pollux_node_jobs_forget(void);

#endif
