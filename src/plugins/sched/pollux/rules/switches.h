/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * switches.h - the leaf switches, or blocks, that nodes are on
 *
 * By Slurm's topology plugin: topology/tree, or topology/block of newer
 * releases. All under READ locks on conf, job and node.
 */
#ifndef SCHED_POLLUX_SWITCHES_H
#define SCHED_POLLUX_SWITCHES_H

#include "common/slurm_compat.h"
#include "core/base/error.h"
#include "sched/pollux/job_options.h"
#include "sched/pollux/job_shape.h"

/*
 * [node_record_count] the switch of each node, numbered from 0; those on none
 * are on one of their own. NULL: nothing is known. The caller's to xfree().
 * Any thread. It is read anew when Slurm's configuration is, and now and then.
 */
int *pollux_switches_read(void);

/* On how many the job may be for as long as it runs; 0: any. */
int pollux_switches_most(const job_record_t *job);
/* The same, for who has asked already. */
int pollux_switches_asked(const job_record_t *job,
			  const struct pollux_job_options *asked);

/* Are these nodes on more switches than its user allows the job? */
bool pollux_switches_over(const job_record_t *job, bitstr_t *nodes);

/* Is the shape on no more than that, or than the job is or was? Or -1. */
int pollux_switches_test(const job_record_t *job,
			 const struct pollux_shape *shape,
			 struct plx_error *err);

#endif
