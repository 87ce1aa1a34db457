/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * comment_cache.h - what was read of elastic jobs' comments, until they change
 *
 * A snapshot is made several times a second under slurmctld's lock, and a job
 * writes a new status every few seconds. Used by the plugin's thread alone.
 */
#ifndef SCHED_POLLUX_COMMENT_CACHE_H
#define SCHED_POLLUX_COMMENT_CACHE_H

#include "common/slurm_compat.h"
#include "sched/pollux/snapshot/slurm_snapshot.h"

/*
 * Status, complaint and target of the snapshot's at-th elastic job. Returns
 * false when it has no status that can be believed. Read lock on jobs.
 */
bool pollux_comment_cache_read(job_record_t *record, int at,
			       struct pollux_job *job);

void pollux_comment_cache_forget_all(void);

#endif
