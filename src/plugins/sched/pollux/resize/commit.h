/* SPDX-License-Identifier: GPL-2.0-or-later */
/* commit.h - nodes, steps and accounting of a job that has a new shape */
#ifndef SCHED_POLLUX_COMMIT_H
#define SCHED_POLLUX_COMMIT_H

#include "sched/pollux/resize/gres_alloc.h"

/*
 * The job holds its new resources in the select plugin's tables; make the
 * rest of slurmctld agree. Cannot fail. `held` is what it had before, and
 * old_cpus the CPUs of that.
 */
void pollux_resize_commit(job_record_t *job, struct pollux_holding *held,
			  uint32_t old_cpus);

#endif
