/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * before.h - what a job had before a resize
 *
 * Node by node, for those it was on alone: of 2,000 jobs on 1,250 nodes an
 * array of all nodes each would be 10 MB. WRITE lock on jobs, READ lock on
 * nodes, but for pollux_before_on().
 */
#ifndef SCHED_POLLUX_BEFORE_H
#define SCHED_POLLUX_BEFORE_H

#include "common/slurm_compat.h"
#include "sched/pollux/job_state.h"

/* Remember what the job has, in place of what was remembered. */
void pollux_before_note(const job_record_t *job, struct pollux_before *before);

/* GPUs on node n; -1: the job was not there, or that is not known. */
int pollux_before_on(const struct pollux_before *before, int n);

/* Is it known, by nodes that have the same numbers still? */
bool pollux_before_known(const struct pollux_before *before);

/*
 * [node_record_count] the same for all nodes, -1 for all where it is not known;
 * the caller's to xfree.
 */
int *pollux_before_gpus(const struct pollux_before *before);

#endif
