/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * comment_cache.h - what was read of elastic jobs' comments, until they change
 *
 * A snapshot is made up to five times a second, and a job writes a new status
 * every few seconds: so texts are parsed ahead, without slurmctld's lock. Used
 * by the plugin's thread alone.
 */
#ifndef SCHED_POLLUX_COMMENT_CACHE_H
#define SCHED_POLLUX_COMMENT_CACHE_H

#include "common/slurm_compat.h"
#include "sched/pollux/snapshot/slurm_snapshot.h"

/*
 * Copy what is new of its texts, which pollux_comment_cache_parse() then reads
 * without a lock: so there is little left to do for
 * pollux_comment_cache_read(). Read lock on jobs.
 */
void pollux_comment_cache_note(const job_record_t *record);
void pollux_comment_cache_parse(void);

/*
 * Status, complaint and target of the job as its record says now, whatever was
 * noted before. Returns false when it has no status that can be believed. Read
 * lock on jobs.
 */
bool pollux_comment_cache_read(job_record_t *record, struct pollux_job *job);

/* Forget all that were not read since the last sweep. */
void pollux_comment_cache_sweep(void);
void pollux_comment_cache_forget_all(void);

#endif
